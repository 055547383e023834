#pragma once
// vLLM V0 (ENGINES.md 3.2, releases before 0.8): prefill first. Whenever the head of the queue
// finds room, a batch of whole prompts runs alone while the decodes pause; otherwise all decode. A
// prompt above max_num_batched_tokens is refused (V0 warns and ends it as ignored).
//
// With enable_chunked_prefill: decodes first, then prompts cut to the rest of the token budget, as
// in Sarathi-Serve. V0's other rules are in whole_prompt_batch.hpp; its watermark is 1 % of the
// pool. Synchronous: V0 knows no pipeline depth above 1.

#include <string>

#include "scheduler/batching/batch_policy.hpp"
#include "scheduler/batching/whole_prompt_batch.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

// The engine's own options (vLLM 0.6: vllm/config.py).
struct VllmV0Scheduling {
  std::string preemption_mode = "recompute";
  double swap_space_gib = 4;

  [[nodiscard]] bool swaps() const { return preemption_mode == "swap"; }
};

class VllmV0Scheduler final : public BatchScheduler {
 public:
  explicit VllmV0Scheduler(const SchedulerOptions& options)
      : chunked_prefill_(options.enable_chunked_prefill), batch_(options) {}

  void enqueue(RequestId id, const Request& request) override;
  void plan(const PlanContext& context, BatchPlan& plan) override;
  [[nodiscard]] bool on_leave(RequestId id) override;
  void on_engine_lost() override;

 private:
  bool chunked_prefill_;
  WholePromptBatch batch_;
};

[[nodiscard]] const BatchPolicy& vllm_v0_policy();

}  // namespace headroom
