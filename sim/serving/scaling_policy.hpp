#pragma once
// Port: how many replicas a group should have.

#include <cstdint>

#include "sim/kernel/time.hpp"

namespace headroom {

// A group when a decision is due.
struct ScalingView {
  TimeNs now_ns = 0;
  std::int64_t replicas = 0;  // wanted so far: those that start or are down included, not draining
  std::int64_t ready = 0;     // of them, those that serve; >= 1
  double metric = 0;          // mean over the ready ones
};

class ScalingPolicy {
 public:
  virtual ~ScalingPolicy() = default;
  // Called at increasing times; what it says is done as far as places allow. >= 1.
  [[nodiscard]] virtual std::int64_t desired(const ScalingView& view) = 0;
};

}  // namespace headroom
