#include "scheduler/batching/vllm.hpp"

#include <algorithm>

#include "scheduler/batching/decode_first.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/kernel/named_value.hpp"

namespace headroom {
namespace {

constexpr NamedValue<SchedulingPolicy> kPolicies[] = {{"fcfs", SchedulingPolicy::fcfs},
                                                      {"priority", SchedulingPolicy::priority}};

SchedulingPolicy policy_of(const VllmScheduling& own) {
  return value_named<SchedulingPolicy>(own.scheduling_policy, kPolicies);
}

}  // namespace

VllmScheduler::VllmScheduler(const SchedulerOptions& options)
    : options_(options),
      policy_(policy_of(options.own.get<VllmScheduling>())),
      reserve_full_isl_(options.own.get<VllmScheduling>().scheduler_reserve_full_isl),
      running_(policy_, PriorityQueue::Top::last),
      waiting_(policy_, PriorityQueue::Top::first) {
  HEADROOM_CHECK(options.max_num_batched_tokens >= options.max_num_seqs,
                 "max_num_batched_tokens must be at least max_num_seqs");
  HEADROOM_CHECK(options.long_prefill_token_threshold >= 0, "a chunk below 0 tokens");
  HEADROOM_CHECK(
      options.speculation.num_speculative_tokens == 0 || policy_ == SchedulingPolicy::fcfs,
      "speculative decoding under priorities");
  HEADROOM_CHECK(!options.enable_lora || (policy_ == SchedulingPolicy::fcfs &&
                                          options.speculation.num_speculative_tokens == 0),
                 "LoRA with drafts or priorities");
}

void VllmScheduler::enqueue(RequestId id, const Request& request) {
  waiting_.push_back(id, request);
  if (options_.enable_lora) [[unlikely]] {
    waiting_by_adapter_.push_back(id, request.adapter);
  }
}

void VllmScheduler::enqueue_arrived(RequestId id, const Request& /*request*/) {
  HEADROOM_CHECK(!options_.enable_lora && options_.speculation.num_speculative_tokens == 0,
                 "KV from another replica with LoRA or drafts");
  arrived_.push_back(id);
}

void VllmScheduler::leave_queue(RequestId id) {
  if (arrived_.contains(id)) [[unlikely]] {
    return arrived_.remove(id);
  }
  waiting_.remove(id);
  if (options_.enable_lora) [[unlikely]] {
    waiting_by_adapter_.remove(id);
  }
}

// kNoRequest: nobody whose adapter the batch may have.
RequestId VllmScheduler::next_waiting(const PlanContext& context) const {
  if (rarely(!arrived_.empty())) return arrived_.front();
  const bool any = mostly(context.adapters == nullptr) || context.adapters->has_room();
  return any ? waiting_.next() : waiting_by_adapter_.first_of(context.adapters->in_use());
}

void VllmScheduler::plan(const PlanContext& context, BatchPlan& plan) {
  if (options_.speculation.num_speculative_tokens > 0) [[unlikely]] {
    return plan_verified(context, plan);
  }
  if (rarely(!prefilling_.empty())) make_room(context, plan);
  take_decodes_first(
      context, [&] { return running_.next(); }, [&] { preempt(context, plan, running_.next()); });
  TokenCount budget = options_.max_num_batched_tokens - context.decodes.size();
  if (!prefilling_.empty()) continue_prefills(context, plan, budget);
  const bool preempted = !plan.preempted.empty();
  const bool somebody_waits = next_waiting(context) != kNoRequest;
  if (!preempted && somebody_waits) admit_waiting(context, plan, budget);

  if (!plan.chunks.empty() || preempted) return;
  // Only decodes: the same step again until the pool is used up. A blocked head stays blocked: free
  // blocks only become fewer until somebody finishes, and that is a plan of its own. An arrival
  // waits behind it, unless its priority puts it in front, or nobody waits but for adapters.
  plan.steady_steps = context.steady_decodes(context.kv.pool().free_blocks);
  const bool arrival_is_looked_at = !somebody_waits || policy_ == SchedulingPolicy::priority;
  plan.arrivals_can_join =
      arrival_is_looked_at && running_.size() < options_.max_num_seqs && budget > 0;
}

TokenCount VllmScheduler::uncut_chunk(TokenCount left) const {
  const TokenCount threshold = options_.long_prefill_token_threshold;
  return rarely(threshold > 0) ? std::min(left, threshold) : left;
}

// New blocks of the next chunks of all prompts in progress.
BlockCount VllmScheduler::blocks_for_chunks(const PlanContext& context) const {
  TokenCount budget = options_.max_num_batched_tokens - context.decodes.size();
  const SequenceBlocks& sequence = context.kv.sequence();
  BlockCount blocks = 0;
  for (RequestId id = prefilling_.front(); id != kNoRequest && budget > 0;
       id = prefilling_.after(id)) {
    const Request& request = context.requests[id];
    const TokenCount tokens =
        std::min(uncut_chunk(request.known_tokens - request.computed_tokens), budget);
    blocks += sequence.new_in_step(request.computed_tokens, request.computed_tokens + tokens);
    budget -= tokens;
  }
  return blocks;
}

// Prompts in progress may need blocks of victims that stand behind them and decode, or have chunks
// of their own: those go before anything is taken for this step. A single prompt in progress that
// is the next victim itself is left to the loops that follow.
void VllmScheduler::make_room(const PlanContext& context, BatchPlan& plan) {
  if (!context.kv.pool().grows_with_decode) return;
  while (!prefilling_.empty()) {
    const RequestId victim = running_.next();
    if (prefilling_.size() == 1 && prefilling_.front() == victim) return;
    const BlockCount need = context.decodes.blocks_needed() + blocks_for_chunks(context);
    if (need <= context.kv.pool().free_blocks) return;
    preempt(context, plan, victim);
  }
}

void VllmScheduler::continue_prefills(const PlanContext& context, BatchPlan& plan,
                                      TokenCount& budget) {
  RequestId following = kNoRequest;
  for (RequestId id = prefilling_.front(); id != kNoRequest && budget > 0; id = following) {
    following = prefilling_.after(id);
    const Request& request = context.requests[id];
    const std::int32_t left = request.known_tokens - request.computed_tokens;
    const auto tokens = static_cast<std::int32_t>(std::min(uncut_chunk(left), budget));
    // Refused to the next victim itself, or by placement, which needs more than blocks_for_chunks()
    // says: others have counted their tokens by now, so this one gives way.
    if (!context.kv.try_grow(
            {.id = id, .request = &request, .hold_tokens = request.computed_tokens + tokens})) {
      return preempt(context, plan, id);
    }
    plan.chunks.push_back({.id = id,
                           .context_tokens = request.computed_tokens,
                           .tokens = tokens,
                           .samples = tokens == left});
    if (tokens == left) prefilling_.remove(id);
    budget -= tokens;
  }
}

void VllmScheduler::admit_waiting(const PlanContext& context, BatchPlan& plan, TokenCount& budget) {
  // The null block counts too (vLLM: kv_cache_manager.py, watermark_blocks).
  const BlockCount watermark =
      watermark_blocks(options_.watermark, context.kv.pool().total_blocks + 1);
  while (budget > 0 && running_.size() < options_.max_num_seqs) {
    const RequestId id = next_waiting(context);
    if (id == kNoRequest) return;
    const Request& request = context.requests[id];
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
    leave_queue(id);
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

void VllmScheduler::preempt(const PlanContext& context, BatchPlan& plan, RequestId id) {
  HEADROOM_CHECK(id != kNoRequest, "blocks are short and nobody runs");
  context.preempt(id, plan);
  running_.remove(id);
  if (prefilling_.contains(id)) prefilling_.remove(id);
  waiting_.push_front(id, context.requests[id]);
  if (options_.enable_lora) waiting_by_adapter_.push_front(id, context.requests[id].adapter);
}

bool VllmScheduler::on_leave(RequestId id) {
  if (running_.contains(id)) {
    running_.remove(id);
  } else {
    leave_queue(id);
  }
  if (prefilling_.contains(id)) prefilling_.remove(id);
  return true;
}

void VllmScheduler::on_engine_lost() {
  running_.clear();
  prefilling_.clear();
}

namespace {

std::vector<OwnRow> vllm_rows() {
  using V = VllmScheduling;
  static const std::string kPolicyNames = choices_in<SchedulingPolicy>(kPolicies);
  return own_rows<V>({
      {.name = "scheduler_reserve_full_isl",
       .field = &V::scheduler_reserve_full_isl,
       .doc = "admit only when the whole prompt fits now"},
      {.name = "long_prefill_token_threshold",
       .field = &V::long_prefill_token_threshold,
       .unit = "tokens",
       .bounds = {.low = 0, .high = 1e9},
       .doc = "longest chunk of a prompt; 0 = no limit but the step's"},
      {.name = "scheduling_policy",
       .field = &V::scheduling_policy,
       .choices = kPolicyNames,
       .doc = "who is admitted first, and who is preempted last"},
  });
}

}  // namespace

const BatchPolicy& vllm_policy() {
  static const BatchPolicy kPolicy{
      .name = "vllm",
      .doc = "vLLM V1: decodes and chunks under a token budget, preemption by recompute",
      .traits = {.has_token_budget = true,
                 .seats_within_budget = true,
                 .plans_ahead = true,
                 .has_stages = true,
                 .has_data_ranks = true,
                 .drafts = true,
                 .drafter_drops_match = true,
                 .serves_lora = true,
                 .hands_over = true,
                 .follows_groups = true,
                 .keeps_prompt_logprobs = true,
                 .enable_chunked_prefill = true,
                 .enable_prefix_caching = true,
                 .watermark = 0.0},
      .allocators = {"paged"},
      .takes = {"enable_prefix_caching", "enable_chunked_prefill", "watermark",
                "kv_offloading_size_gib", "kv_offloading_disk_gib", "kv_offloading_gb_per_s",
                "api_server_count", "api_server", "speculative_config/method"},
      .options = vllm_rows,
      .finds_prefixes = [](const OptionBag&, bool asked) { return asked; },
      .longest_chunk =
          [](const OptionBag& own) {
            return own.get<VllmScheduling>().long_prefill_token_threshold;
          },
      .by_priority =
          [](const OptionBag& own) {
            return policy_of(own.get<VllmScheduling>()) == SchedulingPolicy::priority;
          },
      .make = [](const SchedulerOptions& options, const KvAllocator&)
          -> std::unique_ptr<BatchScheduler> { return std::make_unique<VllmScheduler>(options); }};
  return kPolicy;
}

}  // namespace headroom
