#pragma once
// vLLM V1 (reference: v0.19; docs/semantics.md 6, ENGINES.md 3.1): running requests first, a token
// budget per step, chunked prefill, the whole prompt must fit before a request is admitted,
// preemption by recompute. Synchronous or asynchronous: the pipeline depth of the replica decides,
// the rules are the same.
//
// One plan costs O(changes), not O(batch): running requests that decode are known as a sum, and
// only those whose prompt is not complete are looked at one by one. Without
// long_prefill_token_threshold there is at most one, and under fcfs it is the last running request:
// a chunk is cut short only by the end of the budget, so nothing is admitted behind it until its
// prompt is complete.
//
// Where this differs from vLLM's loop over the running list:
// - Decodes take their tokens first. vLLM lets a prompt that was admitted before them (possible
//   with a threshold or priorities) take its chunk first, so that with a short budget decodes
//   behind it miss the step. Who is preempted is the same: the next victims, until the decodes and
//   the chunks of those left fit (under priority only while the budget is not short).
// - A victim that needs a block itself ends vLLM's loop; under priority those behind it then miss
//   the step. Here they still decode.
//
// Waiting, admission and preemption are those of VllmBatch; with speculative decoding
// VllmDraftScheduler plans instead.

#include "scheduler/batching/batch_policy.hpp"
#include "scheduler/batching/vllm_batch.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

class VllmScheduler final : public VllmBatch {
 public:
  explicit VllmScheduler(const SchedulerOptions& options) : VllmBatch(options) {}

  void enqueue_arrived(RequestId id, const Request& /*request*/) override {
    waiting().push_arrived(id);
  }
  void plan(const PlanContext& context, BatchPlan& plan) override;

 private:
  void make_room(const PlanContext& context, BatchPlan& plan);
  void continue_prefills(const PlanContext& context, BatchPlan& plan, TokenCount& budget);
  [[nodiscard]] BlockCount blocks_for_chunks(const PlanContext& context) const;
};

[[nodiscard]] const BatchPolicy& vllm_policy();

}  // namespace headroom
