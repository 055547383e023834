#pragma once
// Port: where requests come from.

#include "sim/serving/request.hpp"

namespace headroom {

class WorkloadSource {
 public:
  virtual ~WorkloadSource() = default;

  // Time of the next request in order of arrival, kNever when none is known now. Non-decreasing
  // from one `take` to the next; it may become earlier only through `on_done` (never before
  // `now_ns`).
  [[nodiscard]] virtual TimeNs next_time() = 0;
  // That request; only when next_time() != kNever.
  [[nodiscard]] virtual Arrival take() = 0;
  // A request taken as number `index` (0 for the first) left the system. For sessions and closed
  // loops.
  virtual void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) = 0;
};

}  // namespace headroom
