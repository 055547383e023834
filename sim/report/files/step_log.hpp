#pragma once
// Every engine step of a run as one line of JSON: who runs how many tokens, who was admitted,
// preempted and has left, and the blocks of the pool. For comparison with an engine's own scheduler
// (docs/live.md), and to follow one decision at a time.
//
//   {"t_ns":0,"replica":0,"step":1,"rows":[[request,context,tokens],…],"admitted":[request,…],
//    "preempted":[…],"left":[…],"used":4,"free":12,"cached":3,"running":1,"waiting":0}
//
// Requests are numbered in order of arrival, from 0. `context` are the tokens with KV before the
// step: of an admitted request those that were found in the cache. `left`: since the replica's last
// line, with all their tokens or without. Blocks are those behind the plan; `cached` ones are free.
// A line without rows tells of a plan that only preempted, or that the replica is idle again.
// Memory is bounded by the requests that leave in one step.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/metrics/per_replica.hpp"
#include "sim/report/files/replaced_file.hpp"
#include "sim/serving/metrics_sink.hpp"

namespace headroom {

class StepLog final : public MetricsSink {
 public:
  // ConfigError: cannot be written; so may every function below.
  explicit StepLog(const std::string& path) : file_(path) {}

  [[nodiscard]] bool wants_plans() const override { return true; }
  void on_plan(const PlannedStep& step) override;
  void on_steps(const StepRun& /*run*/) override {}
  void on_request(const RequestRecord& record) override;
  void on_event(const EngineEvent& /*event*/) override {}
  void on_idle(std::uint16_t replica, TickSum instant, const ReplicaState& state) override;

  // Once, when the run is over; only then is the file complete.
  void finish() { file_.publish(); }

 private:
  ReplacedFile file_;
  PerReplica<std::vector<std::uint64_t>> left_;  // that no line has told of
};

}  // namespace headroom
