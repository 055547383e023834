#pragma once
// Port: when which replica fails, and how. Knows nothing of the run.

#include <cstdint>

#include "sim/kernel/time.hpp"

namespace headroom {

enum class FaultKind : std::uint8_t {
  crash,
  slow,
  slow_end,
  zone_loss  // a crash; where there is no replica its place cannot be used meanwhile either
};

struct Fault {
  TimeNs time_ns = 0;
  FaultKind kind = FaultKind::crash;
  std::uint32_t replica = 0;
  TimeNs down_ns = 1;          // crash, zone_loss: until it is back, >= 1
  std::int32_t slow_cost = 0;  // slow: number of the cost that holds meanwhile
};

class FaultSource {
 public:
  virtual ~FaultSource() = default;
  // Time of the next fault; kNever: there are no more. Non-decreasing.
  [[nodiscard]] virtual TimeNs next_time() = 0;
  // That fault; only when next_time() != kNever.
  [[nodiscard]] virtual Fault take() = 0;
};

}  // namespace headroom
