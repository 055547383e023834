#pragma once
// A PrefixIndex that learns of what was routed with a delay, and that a replica which died has
// nothing left.

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "scheduler/routing/options.hpp"
#include "scheduler/routing/prefix_index.hpp"
#include "sim/serving/replica_load.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

class PrefixView {
 public:
  explicit PrefixView(const RouterOptions& options);

  void on_load(std::uint32_t replica, const ReplicaLoad& load);
  // Which replicas are known to have the beginning of this prompt.
  [[nodiscard]] const PrefixIndex& look(const Arrival& arrival);
  [[nodiscard]] std::span<const PrefixStep> steps() const { return steps_; }  // of that prompt
  // It goes to `replica`.
  void routed(std::uint32_t replica);

 private:
  struct News {
    TimeNs due_ns = 0;
    std::uint32_t replica = 0;
    std::vector<PrefixStep> steps;
  };

  TimeNs delay_ns_;
  TimeNs now_ns_ = 0;
  PrefixIndex index_;
  std::vector<PrefixStep> steps_;
  std::deque<News> news_;  // the oldest first
};

}  // namespace headroom
