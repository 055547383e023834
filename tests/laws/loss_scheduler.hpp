#pragma once
// A scheduler for the laws of loss: nobody waits.

#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom::laws {

// At every step boundary each new request enters the batch if a seat and all blocks it may ever
// need are free, and is rejected if not. Whole prompts run beside the decodes; nobody is
// interrupted. For allocators that reserve prompt + max_tokens.
class LossScheduler final : public BatchScheduler {
 public:
  explicit LossScheduler(const SchedulerOptions& options) : seats_(options.max_num_seqs) {}
  void enqueue(RequestId id, const Request& request) override;
  void plan(const PlanContext& context, BatchPlan& plan) override;
  [[nodiscard]] bool on_leave(RequestId id) override;
  void on_engine_lost() override {}

 private:
  std::int64_t seats_;
  std::int64_t running_ = 0;
  std::vector<RequestId> new_;
};

}  // namespace headroom::laws
