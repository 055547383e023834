#include "scheduler/batching/vllm_v0.hpp"

namespace headroom {

void VllmV0Scheduler::enqueue(RequestId id, const Request&) { batch_.enqueue(id); }

void VllmV0Scheduler::plan(const PlanContext& context, BatchPlan& plan) {
  if (chunked_prefill_) {
    batch_.plan_decode_first(context, plan);
  } else {
    batch_.plan_prefill_first(context, plan);
  }
}

bool VllmV0Scheduler::on_leave(RequestId id) {
  batch_.on_leave(id);
  return true;
}

void VllmV0Scheduler::on_engine_lost() { batch_.on_engine_lost(); }

namespace {

std::vector<OwnRow> vllm_v0_rows() {
  using V = VllmV0Scheduling;
  return own_rows<V>({
      {.name = "preemption_mode",
       .field = &V::preemption_mode,
       .choices = "recompute|swap",
       .doc =
           "what happens to the KV of a preempted request: it is dropped, or copied to the host"},
      {.name = "swap_space_gib",
       .field = &V::swap_space_gib,
       .unit = "GiB",
       .bounds = {.low = 0, .high = 1e6},
       .doc = "host memory per rank for swapped requests (--swap-space)",
       .only_with = "/engine/preemption_mode=swap"},
  });
}

}  // namespace

const BatchPolicy& vllm_v0_policy() {
  static const BatchPolicy kPolicy{
      .name = "vllm_v0",
      .doc = "vLLM before 0.8: prefill first, preemption by recompute or swap",
      .traits = {.has_token_budget = true,
                 .swaps = true,
                 .forks_samples = true,
                 .keeps_prompt_logprobs = true,
                 .enable_chunked_prefill = false,
                 .enable_prefix_caching = false,
                 .watermark = 0.01},
      .allocators = {"paged"},
      .takes = {"enable_prefix_caching", "enable_chunked_prefill", "watermark",
                "kv_offloading_gb_per_s", "api_server_count", "api_server"},
      .options = vllm_v0_rows,
      .finds_prefixes = [](const OptionBag&, bool asked) { return asked; },
      .swap_space_gib = [](const OptionBag& own) -> std::optional<double> {
        const auto& v0 = own.get<VllmV0Scheduling>();
        if (!v0.swaps()) return std::nullopt;
        return v0.swap_space_gib;
      },
      .make = [](const SchedulerOptions& options,
                 const KvAllocator&) -> std::unique_ptr<BatchScheduler> {
        return std::make_unique<VllmV0Scheduler>(options);
      }};
  return kPolicy;
}

}  // namespace headroom
