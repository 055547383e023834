#include "scheduler/batching/vllm_batch.hpp"

#include <algorithm>

#include "scheduler/batching/decode_first.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/kernel/named_value.hpp"

namespace headroom {
namespace {

constexpr NamedValue<SchedulingPolicy> kPolicies[] = {{"fcfs", SchedulingPolicy::fcfs},
                                                      {"priority", SchedulingPolicy::priority}};

}  // namespace

SchedulingPolicy policy_of(const VllmScheduling& own) {
  return value_named<SchedulingPolicy>(own.scheduling_policy, kPolicies);
}

std::string scheduling_policy_names() { return choices_in<SchedulingPolicy>(kPolicies); }

VllmBatch::VllmBatch(const SchedulerOptions& options)
    : options_(options),
      policy_(policy_of(options.own.get<VllmScheduling>())),
      reserve_full_isl_(options.own.get<VllmScheduling>().scheduler_reserve_full_isl),
      cuts_lone_prompts_(options.own.get<VllmScheduling>().threshold_cuts_lone_prompts),
      running_(policy_, PriorityQueue::Top::last),
      waiting_(policy_, options.enable_lora) {
  HEADROOM_CHECK(options.max_num_batched_tokens >= options.max_num_seqs,
                 "max_num_batched_tokens must be at least max_num_seqs");
  HEADROOM_CHECK(options.long_prefill_token_threshold >= 0, "a chunk below 0 tokens");
  HEADROOM_CHECK(!options.enable_lora || policy_ == SchedulingPolicy::fcfs,
                 "LoRA under priorities");
}

void VllmBatch::admit_waiting(const PlanContext& context, BatchPlan& plan, TokenCount& budget) {
  // The null block counts too (vLLM: kv_cache_manager.py, watermark_blocks).
  const BlockCount watermark =
      watermark_blocks(options_.watermark, context.kv.pool().total_blocks + 1);
  while (budget > 0 && running_.size() < options_.max_num_seqs) {
    const RequestId id = next_waiting(context);
    if (id == kNoRequest) return;
    const Request& request = context.requests[id];
    if (rarely(request.token_in_flight)) return;  // of a step of another micro-batch
    const TokenCount cached = context.kv.cached_prefix(id, request);
    const TokenCount left = request.known_tokens - cached;
    const TokenCount wanted = uncut_chunk(left);
    if (!options_.enable_chunked_prefill && wanted > budget) return;
    const TokenCount tokens = std::min(wanted, budget);
    const bool others = !running_.empty() || context.decodes.size() > 0;
    const KvGrowth growth{
        .id = id,
        .request = &request,
        .cached_tokens = cached,
        .hold_tokens = cached + tokens,
        .fit_tokens = reserve_full_isl_ ? request.known_tokens : cached + tokens,
        .final_tokens = TokenCount{request.prompt_tokens} + request.reserved_output,
        .keep_free = others ? watermark : 0};
    if (!context.kv.try_grow(growth)) return;
    waiting_.remove(id);
    running_.push_back(id, request);
    if (context.adapters != nullptr) [[unlikely]] {
      context.adapters->join(request.adapter);
    }
    plan.chunks.push_back({.id = id,
                           .context_tokens = static_cast<std::int32_t>(cached),
                           .tokens = static_cast<std::int32_t>(tokens),
                           .admits = true,
                           .samples = tokens == left});
    if (tokens < left) prefilling_.push_back(id);
    budget -= tokens;
  }
}

void VllmBatch::preempt(const PlanContext& context, BatchPlan& plan, RequestId id) {
  HEADROOM_CHECK(id != kNoRequest, "blocks are short but no request runs");
  context.preempt(id, plan);
  running_.remove(id);
  if (prefilling_.contains(id)) prefilling_.remove(id);
  waiting_.push_front(id, context.requests[id]);
}

bool VllmBatch::on_leave(RequestId id) {
  if (running_.contains(id)) {
    running_.remove(id);
  } else {
    waiting_.remove(id);
  }
  if (prefilling_.contains(id)) prefilling_.remove(id);
  return true;
}

void VllmBatch::on_engine_lost() {
  running_.clear();
  prefilling_.clear();
}

}  // namespace headroom
