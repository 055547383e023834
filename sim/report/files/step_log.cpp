#include "sim/report/files/step_log.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace headroom {

void StepLog::on_plan(const PlannedStep& step) {
  std::string rows;
  std::vector<std::uint64_t> admitted;
  for (const PlannedRow& row : step.rows) {
    rows += fmt::format("{}[{},{},{}]", rows.empty() ? "" : ",", row.request, row.context_tokens,
                        row.tokens);
    if (row.admitted) admitted.push_back(row.request);
  }
  const KvPoolState& pool = step.state->pool;
  file_.write(fmt::format(
      R"({{"t_ns":{},"replica":{},"step":{},"rows":[{}],"admitted":[{}],"preempted":[{}],)"
      R"("left":[{}],"used":{},"free":{},"cached":{},"running":{},"waiting":{}}})"
      "\n",
      step.time_ns, step.replica, step.step, rows, fmt::join(admitted, ","),
      fmt::join(step.preempted, ","), fmt::join(left_[step.replica], ","), pool.used_blocks(),
      pool.free_blocks, pool.cached_blocks, step.state->running, step.state->waiting));
  left_[step.replica].clear();
}

// Of one that was turned away at the fleet's door no replica tells.
void StepLog::on_request(const RequestRecord& record) {
  if (record.replica != kNoReplica) left_[record.replica].push_back(record.index);
}

void StepLog::on_idle(std::uint16_t replica, TickSum instant, const ReplicaState& state) {
  if (left_[replica].empty()) return;
  on_plan({.replica = replica, .time_ns = floor_ns(instant), .state = &state});
}

}  // namespace headroom
