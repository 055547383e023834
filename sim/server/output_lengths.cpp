#include "sim/server/output_lengths.hpp"

#include "sim/kernel/check.hpp"

namespace headroom {

OutputLengths::OutputLengths(const Scenario& scenario)
    : scenario_(scenario), workload_(make_workload(scenario)) {}

// Users of a closed loop send again when they have their answer: each has it at once.
std::int32_t OutputLengths::next() {
  if (workload_.source->next_time() == kNever) {
    HEADROOM_CHECK(taken_ > 0, "a workload without requests");
    workload_ = make_workload(scenario_);
    taken_ = 0;
  }
  const Arrival arrival = workload_.source->take();
  workload_.source->on_done(taken_++, Outcome::finished, arrival.time_ns);
  return arrival.output_tokens;
}

}  // namespace headroom
