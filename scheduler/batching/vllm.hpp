#pragma once
// vLLM V1, policy fcfs (reference: v0.19; docs/semantics.md 6, ENGINES.md 3.1): running requests
// first, a token budget per step, chunked prefill, the whole prompt must fit before a request is
// admitted, preemption by recompute of the last running request. Synchronous or asynchronous: the
// pipeline depth of the replica decides, the rules are the same.
//
// One plan costs O(changes), not O(batch): running requests that decode are known as a sum, and at
// most one running request is in the middle of its prompt. It is always the last one: a chunk is
// cut short only by the end of the budget, so nothing is admitted behind it until its prompt is
// complete.

#include <cstdint>
#include <vector>

#include "scheduler/batching/request_list.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

class VllmScheduler final : public BatchScheduler {
 public:
  explicit VllmScheduler(const SchedulerOptions& options);

  void enqueue(RequestId id, const Request& request) override;
  void plan(const PlanContext& context, BatchPlan& plan) override;
  [[nodiscard]] bool on_leave(RequestId id) override;
  void on_engine_lost() override;

 private:
  void take_decodes(const PlanContext& context, BatchPlan& plan);
  void continue_prefill(const PlanContext& context, BatchPlan& plan, TokenCount& budget);
  void admit_waiting(const PlanContext& context, BatchPlan& plan, TokenCount& budget);
  void preempt_last(const PlanContext& context, BatchPlan& plan);

  SchedulerOptions options_;
  RequestList running_;                // in order of admission
  RequestList waiting_;                // preempted ones at the front
  RequestId prefilling_ = kNoRequest;  // the one whose prompt is not complete
};

}  // namespace headroom
