#include "scheduler/batching/tgi.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/serving/kv_layout.hpp"

namespace headroom {
namespace {

// What an entry holds from its admission on. (queue.rs reserves one token less, because the last
// one never has KV; the admission limits of a replica count it.)
TokenCount whole_life(const Request& request) {
  return TokenCount{request.prompt_tokens} + request.reserved_output;
}

}  // namespace

void TgiScheduler::enqueue(RequestId id, const Request&) { waiting_.push_back(id); }

void TgiScheduler::plan(const PlanContext& context, BatchPlan& plan) {
  if (options_.enable_chunked_prefill) return plan_mixed(context, plan);
  plan_apart(context, plan);
}

// The step after an admission into a running batch is one that the router does not look up the
// queue for.
bool TgiScheduler::must_decode(const PlanContext& context) const {
  return running_ > 0 && joined_others_ && context.decodes_planned == latest_prefill_;
}

// --- one forward for everything -----------------------------------------------------------------

void TgiScheduler::plan_mixed(const PlanContext& context, BatchPlan& plan) {
  TokenCount budget = own_.max_batch_prefill_tokens - context.decodes.size();
  const bool must_decode_now = must_decode(context);
  context.take_decodes();
  continue_prefill(context, plan, budget);
  if (!must_decode_now) {
    const std::size_t continued = plan.chunks.size();
    const bool others = running_ > 0;
    admit(context, plan, budget);
    if (plan.chunks.size() > continued) {
      latest_prefill_ = context.decodes_planned + 1;  // this step takes decodes along
      joined_others_ = others;
    }
  }
  if (!plan.chunks.empty() || (must_decode_now && !waiting_.empty())) return;
  // A head that does not fit will not fit until a request leaves, because free room does not grow
  // before.
  plan.steady_steps = kManySteps / 2;
  plan.arrivals_can_join = waiting_.empty() && running_ < options_.max_num_seqs && budget > 0;
}

void TgiScheduler::continue_prefill(const PlanContext& context, BatchPlan& plan,
                                    TokenCount& budget) {
  if (prefilling_ == kNoRequest) return;
  const RequestId id = prefilling_;
  const Request& request = context.requests[id];
  const std::int32_t left = request.known_tokens - request.computed_tokens;
  // One token at least, however many decode (flash_causal_lm.py, next_chunk_length).
  const auto tokens =
      static_cast<std::int32_t>(std::max<TokenCount>(1, std::min<TokenCount>(left, budget)));
  const TokenCount hold = TokenCount{request.computed_tokens} + tokens;
  const bool held = context.kv.try_grow({.id = id,
                                         .request = &request,
                                         .hold_tokens = hold,
                                         .fit_tokens = hold,
                                         .final_tokens = whole_life(request)});
  HEADROOM_CHECK(held, "a chunk does not fit what its request has reserved");
  plan.chunks.push_back({.id = id,
                         .context_tokens = request.computed_tokens,
                         .tokens = tokens,
                         .samples = tokens == left});
  if (tokens == left) prefilling_ = kNoRequest;
  budget -= tokens;
}

// --- prefills between decode steps --------------------------------------------------------------

void TgiScheduler::plan_apart(const PlanContext& context, BatchPlan& plan) {
  // queue.rs rounds the budget, not the prompts, up to whole blocks.
  const std::int32_t block = context.kv.pool().block_tokens;
  const TokenCount budget = blocks_needed(own_.max_batch_prefill_tokens, block) * block;
  const StepCount waited = 1 + context.decodes_planned - latest_prefill_;
  const bool any_number = running_ == 0 || waited >= own_.max_waiting_tokens;
  const std::int64_t least = any_number ? 0 : least_entries();
  const bool must_decode_now = must_decode(context);
  const Weighed weighed = weigh(context, least, budget);

  if (!must_decode_now && weighed == Weighed::enough) {
    const bool others = running_ > 0;
    admit(context, plan, budget);
    if (!plan.chunks.empty()) {
      plan.decodes_pause = true;
      latest_prefill_ = context.decodes_planned;
      joined_others_ = others;
      return;
    }
  }
  context.take_decodes();
  if (!plan.rejected.empty()) return;
  if (waiting_.empty()) {
    plan.steady_steps = kManySteps / 2;
    plan.arrivals_can_join = running_ < options_.max_num_seqs;
  } else if (!must_decode_now) {
    // With a smallest batch size, the wait can end this; a head that found no room waits until a
    // request leaves.
    plan.steady_steps = least > 0 ? own_.max_waiting_tokens - waited : StepCount{kManySteps / 2};
    plan.arrivals_can_join = weighed == Weighed::too_few_wait;
  }
}

std::int64_t TgiScheduler::least_entries() const {
  // In single precision, as the router does it (f32).
  const auto ratio = static_cast<float>(own_.waiting_served_ratio);
  return static_cast<std::int64_t>(static_cast<float>(running_) * ratio);
}

TgiScheduler::Weighed TgiScheduler::weigh(const PlanContext& context, std::int64_t least,
                                          TokenCount budget) const {
  if (waiting_.size() < least) return Weighed::too_few_wait;
  const KvPoolState& pool = context.kv.pool();
  const TokenCount longest_prompt = budget;
  BlockCount free = pool.free_blocks;
  std::int64_t seats = options_.max_num_seqs - running_;
  std::int64_t fitting = 0;
  for (RequestId id = waiting_.front(); fitting < least; id = waiting_.after(id)) {
    if (id == kNoRequest) return Weighed::too_few_wait;
    const Request& request = context.requests[id];
    if (request.prompt_tokens > longest_prompt) continue;  // it will be refused
    budget -= request.prompt_tokens - context.kv.cached_prefix(id, request);
    free -= blocks_needed(whole_life(request), pool.block_tokens);
    --seats;
    if (budget < 0 || free < 0 || seats < 0) return Weighed::no_room;
    ++fitting;
  }
  return Weighed::enough;
}

// --- both ---------------------------------------------------------------------------------------

void TgiScheduler::admit(const PlanContext& context, BatchPlan& plan, TokenCount budget) {
  const bool cuts = options_.enable_chunked_prefill;
  const TokenCount longest_prompt = budget;
  while (!waiting_.empty() && budget > 0 && running_ < options_.max_num_seqs) {
    const RequestId id = waiting_.front();
    const Request& request = context.requests[id];
    if (!cuts && request.prompt_tokens > longest_prompt) {
      waiting_.pop_front();
      plan.rejected.push_back(id);
      continue;
    }
    const TokenCount cached = context.kv.cached_prefix(id, request);
    const TokenCount left = request.known_tokens - cached;
    if (!cuts && left > budget) return;
    const TokenCount tokens = std::min(left, budget);
    const TokenCount whole = whole_life(request);
    if (!context.kv.try_grow({.id = id,
                              .request = &request,
                              .cached_tokens = cached,
                              .hold_tokens = cached + tokens,
                              .fit_tokens = whole,
                              .final_tokens = whole})) {
      return;
    }
    waiting_.pop_front();
    ++running_;
    plan.chunks.push_back({.id = id,
                           .context_tokens = static_cast<std::int32_t>(cached),
                           .tokens = static_cast<std::int32_t>(tokens),
                           .admits = true,
                           .samples = tokens == left});
    if (tokens < left) prefilling_ = id;
    budget -= tokens;
  }
}

bool TgiScheduler::on_leave(RequestId id) {
  if (waiting_.contains(id)) {
    waiting_.remove(id);
    return true;
  }
  --running_;
  if (prefilling_ == id) prefilling_ = kNoRequest;
  return true;
}

void TgiScheduler::on_engine_lost() {
  running_ = 0;
  prefilling_ = kNoRequest;
  joined_others_ = false;
}

namespace {

std::vector<OwnRow> tgi_rows() {
  using T = TgiScheduling;
  return own_rows<T>({
      {.name = "waiting_served_ratio",
       .field = &T::waiting_served_ratio,
       .bounds = {.low = 0, .high = 1000},
       .doc = "smallest size of a prefill batch, relative to the running batch"},
      {.name = "max_waiting_tokens",
       .field = &T::max_waiting_tokens,
       .unit = "tokens",
       .bounds = {.low = 0, .high = 1e6},
       .doc = "decode steps after which a prefill batch of any size may interrupt"},
  });
}

}  // namespace

const BatchPolicy& tgi_policy() {
  static const BatchPolicy kPolicy{
      .name = "tgi",
      .doc = "TGI: prompt + max_new_tokens reserved, never preempts",
      .traits = {.sets_aside = true,
                 .keeps_prompt_logprobs = true,
                 .enable_chunked_prefill = true,
                 .enable_prefix_caching = true},
      .allocators = {"paged", "contiguous"},
      .takes = {"enable_prefix_caching", "enable_chunked_prefill"},
      .options = tgi_rows,
      .finds_prefixes = [](const OptionBag&, bool asked) { return asked; },
      .make = [](const SchedulerOptions& options, const KvAllocator&)
          -> std::unique_ptr<BatchScheduler> { return std::make_unique<TgiScheduler>(options); }};
  return kPolicy;
}

}  // namespace headroom
