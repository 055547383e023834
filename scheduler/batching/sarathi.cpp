#include "scheduler/batching/sarathi.hpp"

namespace headroom {

void SarathiScheduler::enqueue(RequestId id, const Request&) { batch_.enqueue(id); }

void SarathiScheduler::plan(const PlanContext& context, BatchPlan& plan) {
  batch_.plan_decode_first(context, plan);
}

bool SarathiScheduler::on_leave(RequestId id) {
  batch_.on_leave(id);
  return true;
}

void SarathiScheduler::on_engine_lost() { batch_.on_engine_lost(); }

const BatchPolicy& sarathi_policy() {
  static const BatchPolicy kPolicy{
      .name = "sarathi",
      .doc = "Sarathi-Serve: all decodes, then prompt chunks in the rest of the budget",
      .traits = {.has_token_budget = true,
                 .seats_within_budget = true,
                 .keeps_prompt_logprobs = true,
                 .enable_prefix_caching = false,
                 .watermark = 0.01},
      .allocators = {"paged"},
      .takes = {"enable_prefix_caching", "watermark"},
      .finds_prefixes = [](const OptionBag&, bool asked) { return asked; },
      .make = [](const SchedulerOptions& options,
                 const KvAllocator&) -> std::unique_ptr<BatchScheduler> {
        return std::make_unique<SarathiScheduler>(options);
      }};
  return kPolicy;
}

}  // namespace headroom
