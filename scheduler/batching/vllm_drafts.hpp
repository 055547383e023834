#pragma once
// vLLM V1 with speculative decoding: the loop over the running requests of ENGINES.md 3.1, with
// each decode's drafts. Steps are planned one by one, so the plan may look at every row: O(batch).
// Policy fcfs, without LoRA. A draft model takes a token of the budget for each of max_num_seqs
// (vLLM: max_num_new_slots_for_drafting, max_num_scheduled_tokens).

#include "scheduler/batching/vllm_batch.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

class VllmDraftScheduler final : public VllmBatch {
 public:
  // num_speculative_tokens >= 1.
  explicit VllmDraftScheduler(const SchedulerOptions& options);

  void plan(const PlanContext& context, BatchPlan& plan) override;

 private:
  [[nodiscard]] bool run(const PlanContext& context, BatchPlan& plan, RequestId id,
                         TokenCount& budget);
};

}  // namespace headroom
