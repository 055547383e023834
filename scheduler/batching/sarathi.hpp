#pragma once
// Sarathi-Serve (OSDI'24; ENGINES.md 3.8): stall-free batches under a token budget tau =
// max_num_batched_tokens (512 strict, 2048 relaxed). Every decode takes one token, then the prompt
// in progress, then new ones, first come first served, each cut to the rest of the budget. Memory
// rules in whole_prompt_batch.hpp, with a watermark of 1 % of the pool. A prompt that can never
// have its blocks is refused; Sarathi-Serve itself would keep it at the head for ever.

#include "scheduler/batching/batch_policy.hpp"
#include "scheduler/batching/whole_prompt_batch.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

class SarathiScheduler final : public BatchScheduler {
 public:
  explicit SarathiScheduler(const SchedulerOptions& options) : batch_(options) {}

  void enqueue(RequestId id, const Request& request) override;
  void plan(const PlanContext& context, BatchPlan& plan) override;
  [[nodiscard]] bool on_leave(RequestId id) override;
  void on_engine_lost() override;

 private:
  WholePromptBatch batch_;
};

[[nodiscard]] const BatchPolicy& sarathi_policy();

}  // namespace headroom
