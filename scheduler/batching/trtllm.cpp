#include "scheduler/batching/trtllm.hpp"

#include <algorithm>
#include <span>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/kernel/named_value.hpp"

namespace headroom {

namespace {

constexpr NamedValue<CapacityPolicy> kCapacityPolicies[] = {
    {"GUARANTEED_NO_EVICT", CapacityPolicy::guaranteed_no_evict},
    {"MAX_UTILIZATION", CapacityPolicy::max_utilization},
    {"STATIC_BATCH", CapacityPolicy::static_batch}};
constexpr std::string_view kEqualProgress = "EQUAL_PROGRESS";

// Tokens over which two prompts are known to be equal.
TokenCount common_prefix(std::span<const PrefixSegment> a, std::span<const PrefixSegment> b) {
  TokenCount tokens = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i].id == b[i].id; ++i) {
    tokens += std::min(a[i].tokens, b[i].tokens);
    if (a[i].tokens != b[i].tokens) break;
  }
  return tokens;
}

}  // namespace

TrtllmScheduler::TrtllmScheduler(const SchedulerOptions& options)
    : options_(options),
      capacity_policy_(value_named<CapacityPolicy>(
          options.own.get<TrtllmScheduling>().capacity_scheduler_policy, kCapacityPolicies)),
      deals_equally_(options.enable_chunked_prefill &&
                     options.own.get<TrtllmScheduling>().context_chunking_policy == kEqualProgress),
      capacity_(make_trtllm_capacity(capacity_policy_, options.speculation.num_speculative_tokens)),
      late_prefixes_(options.finds_prefixes) {}

void TrtllmScheduler::enqueue(RequestId id, const Request&) { waiting_.push_back(id); }

void TrtllmScheduler::plan(const PlanContext& context, BatchPlan& plan) {
  late_prefixes_.publish_due(context);
  // A step smaller than a block still has to get through a prompt.
  unit_ = std::min<TokenCount>(context.kv.pool().block_tokens, options_.max_num_batched_tokens);
  const bool open = capacity_->is_open(started_.size());
  TokenCount left = options_.max_num_batched_tokens;
  if (options_.speculation.num_speculative_tokens > 0) {
    left = take_verified(context, plan);
  } else {
    take_decodes(context, plan);
    left -= context.decodes.size();
  }
  seats_left_ = options_.max_micro_batch_seqs - context.decodes.size();
  // One step at a time: whether a prompt fits may change with every block that a decode takes.
  if (waits_for_more(context, left, open && plan.preempted.empty())) return;
  const bool may_come = !prompts_.empty() || (!waiting_.empty() && open);
  if (context.prompts_wait && may_come) return;
  // No request starts behind a prompt that gets no tokens, or behind a paused request.
  const bool looked_at_all = continue_prompts(left) && plan.preempted.empty() && open &&
                             start_waiting(context, plan, left);
  if (deals_equally_) deal_equally(left);
  run_prompts(context, plan);

  if (!plan.chunks.empty() || !plan.preempted.empty()) return;
  // Only decodes: the same step repeats while their blocks last. A request that may not start now
  // may not start later either: free and cached blocks only become fewer until a request leaves.
  if (mostly(!late_prefixes_.any())) {
    plan.steady_steps = context.steady_decodes(capacity_->free_for_decodes(context.kv.pool()));
  }
  plan.arrivals_can_join = looked_at_all;
}

bool TrtllmScheduler::can_run_prompts(const PlanContext& context) const {
  const TokenCount left = options_.max_num_batched_tokens - context.decodes.size();
  const BlockCount free = context.kv.pool().free_blocks - context.decodes.blocks_needed();
  return startable_tokens(context, left, free, capacity_->is_open(started_.size())) > 0;
}

// py_executor.py, _waiting_requests: prompts that could run stand by, all together, while decodes
// go on. Without decodes the plans that wait take no time.
bool TrtllmScheduler::waits_for_more(const PlanContext& context, TokenCount left, bool may_start) {
  const auto& own = options_.own.get<TrtllmScheduling>();
  if (own.batch_wait_timeout_iters == 0) return false;
  const TokenCount prompts =
      startable_tokens(context, left, context.kv.pool().free_blocks, may_start);
  const TokenCount decodes = options_.max_num_batched_tokens - left;
  const double enough =
      own.batch_wait_max_tokens_ratio * static_cast<double>(options_.max_num_batched_tokens);
  if (prompts > 0 && decodes > 0 && static_cast<double>(prompts + decodes) < enough) {
    if (waits_since_ < 0) waits_since_ = context.decodes_planned;
    if (context.decodes_planned - waits_since_ < own.batch_wait_timeout_iters) return true;
  }
  waits_since_ = -1;
  return false;
}

// Tokens of the prompts that this plan could run: whole ones, as the engine counts them. 0: none.
// `may_start`: requests that wait, too.
TokenCount TrtllmScheduler::startable_tokens(const PlanContext& context, TokenCount left,
                                             BlockCount free, bool may_start) const {
  const KvPoolState& pool = context.kv.pool();
  TokenCount tokens = 0;
  for (const Prompt& prompt : prompts_) {
    if (tokens >= left) return tokens;
    tokens += prompt.known;
  }
  std::int64_t seats = may_start ? options_.max_num_seqs - started_.size() : 0;
  for (RequestId id = waiting_.front(); id != kNoRequest && seats > 0 && tokens < left;
       id = waiting_.after(id), --seats) {
    const Request& request = context.requests[id];
    const TrtllmCapacity::Need need = capacity_->need(request, pool);
    const BlockCount blocks = blocks_needed(need.tokens, pool.block_tokens);
    if (blocks + need.keep_free > free) break;
    free -= blocks;
    tokens += request.known_tokens;
  }
  return tokens;
}

// Pauses as many of the last started requests as it takes; only then blocks are taken.
void TrtllmScheduler::take_decodes(const PlanContext& context, BatchPlan& plan) {
  while (context.decodes.blocks_needed() > capacity_->free_for_decodes(context.kv.pool())) {
    pause_last(context, plan);
  }
  context.take_decodes();
}

// The same with drafts, row by row: a request without room in the step skips it, and so do all
// behind it. Returns the tokens left for prompts.
TokenCount TrtllmScheduler::take_verified(const PlanContext& context, BatchPlan& plan) {
  const std::int32_t tokens = 1 + options_.speculation.num_speculative_tokens;
  TokenCount left = options_.max_num_batched_tokens;
  bool room = true;
  for (RequestId id = started_.front(); id != kNoRequest; id = started_.after(id)) {
    const Request& request = context.requests[id];
    if (request.state != RequestState::decoding) continue;
    room = room && tokens <= left;
    const TokenCount computed = computed_by(request, context.decodes_planned);
    if (room && !hold_slots(context, plan, id, computed + tokens)) break;
    plan.verified.push_back({id, room ? tokens : 0});
    if (room) left -= tokens;
  }
  context.take_decodes();
  return left;
}

// Pauses the last started requests until `id` has its slots; false: it was the last one itself.
bool TrtllmScheduler::hold_slots(const PlanContext& context, BatchPlan& plan, RequestId id,
                                 TokenCount slots) {
  const KvPoolState& pool = context.kv.pool();
  const Request& request = context.requests[id];
  while (
      !context.kv.try_grow({.id = id,
                            .request = &request,
                            .hold_tokens = slots,
                            .keep_free = pool.free_blocks - capacity_->free_for_decodes(pool)})) {
    const RequestId last = started_.back();
    pause_last(context, plan);
    if (last == id) return false;
  }
  return true;
}

void TrtllmScheduler::pause_last(const PlanContext& context, BatchPlan& plan) {
  HEADROOM_CHECK(capacity_policy_ == CapacityPolicy::max_utilization,
                 "a policy that never evicts is short of blocks");
  HEADROOM_CHECK(!started_.empty(), "blocks are short but no request has started");
  const RequestId id = started_.back();
  context.preempt(id, plan);
  started_.remove(id);
  capacity_->on_leave(id);
  forget_prompt(id);
  waiting_.push_front(id);
}

// --- stage B ------------------------------------------------------------------------------------

// What a prompt of `known` tokens that lacks `rest` gets at its turn; 0 = it does not run now.
TokenCount TrtllmScheduler::first_piece(TokenCount known, TokenCount rest, TokenCount left) const {
  if (deals_equally_) {
    const TokenCount piece = std::min(rest, unit_);
    return piece <= left ? piece : 0;
  }
  if (rest <= left) return rest;
  if (options_.enable_chunked_prefill) return left / unit_ * unit_;
  // Prompt and output of a paused request may be longer than a step. What the engine does then is
  // not documented; here they are computed over several steps.
  return known > options_.max_num_batched_tokens ? left : 0;
}

bool TrtllmScheduler::continue_prompts(TokenCount& left) {
  for (Prompt& prompt : prompts_) {
    prompt.piece = seats_left_ > 0 ? first_piece(prompt.known, prompt.rest(), left) : 0;
    if (prompt.piece == 0) return false;
    left -= prompt.piece;
    --seats_left_;
  }
  return true;
}

// EQUAL_PROGRESS: after one unit each, further rounds of one unit each in order; whose unit (or
// last piece) does not fit is passed over. As many whole rounds at once as no prompt ends in.
void TrtllmScheduler::deal_equally(TokenCount& left) {
  for (bool dealt = true; dealt;) {
    TokenCount active = 0;
    TokenCount shortest = left;
    for (const Prompt& prompt : prompts_) {
      if (prompt.rest() == 0) continue;
      ++active;
      shortest = std::min(shortest, prompt.rest());
    }
    if (active == 0) return;
    const TokenCount rounds =
        std::max<TokenCount>(1, std::min(shortest / unit_, left / (active * unit_)));
    dealt = false;
    for (Prompt& prompt : prompts_) {
      const TokenCount more = std::min(prompt.rest(), rounds * unit_);
      if (more == 0 || more > left) continue;
      prompt.piece += more;
      left -= more;
      dealt = true;
    }
  }
}

void TrtllmScheduler::run_prompts(const PlanContext& context, BatchPlan& plan) {
  for (Prompt& prompt : prompts_) {
    if (prompt.piece == 0) continue;
    const Request& request = context.requests[prompt.id];
    const TokenCount after = prompt.computed + prompt.piece;
    if (after > prompt.held) {
      const bool fits = context.kv.try_grow(
          {.id = prompt.id, .request = &request, .hold_tokens = after, .is_unknown = true});
      HEADROOM_CHECK(fits, "a started prompt lacks blocks it was promised");
      capacity_->on_chunk(prompt.id, request, after, context.kv.pool());
      prompt.held = after;
    }
    plan.chunks.push_back({.id = prompt.id,
                           .context_tokens = static_cast<std::int32_t>(prompt.computed),
                           .tokens = static_cast<std::int32_t>(prompt.piece),
                           .admits = prompt.starts,
                           .samples = prompt.rest() == 0});
    prompt.computed = after;
    if (after == prompt.known) {
      late_prefixes_.add(prompt.id, after, options_.pipeline_depth, context.micro_batch);
    }
    prompt.piece = 0;
    prompt.starts = false;
  }
  std::erase_if(prompts_, [](const Prompt& prompt) { return prompt.rest() == 0; });
}

// --- requests that wait -------------------------------------------------------------------------

// Whether a request that arrives now could start (or be rejected) in the next plan: true when the
// loop reached the end of the queue and a seat is free.
bool TrtllmScheduler::start_waiting(const PlanContext& context, BatchPlan& plan, TokenCount& left) {
  std::int64_t passed_over = 0;
  RequestId id = waiting_.front();
  while (started_.size() + passed_over < options_.max_num_seqs && seats_left_ > 0) {
    if (id == kNoRequest) return true;
    const RequestId next = waiting_.after(id);
    const Request& request = context.requests[id];
    if (can_never_run(request)) {
      waiting_.remove(id);
      plan.rejected.push_back(id);
    } else if (waits_to_reuse(context, request)) {
      ++passed_over;
    } else if (!try_start(context, id, left)) {
      return false;
    }
    id = next;
  }
  return false;
}

bool TrtllmScheduler::try_start(const PlanContext& context, RequestId id, TokenCount& left) {
  const Request& request = context.requests[id];
  if (rarely(request.token_in_flight)) return false;  // of a step of another micro-batch
  const TokenCount cached = context.kv.cached_prefix(id, request);
  TokenCount piece = first_piece(request.known_tokens, request.known_tokens - cached, left);
  if (piece == 0) return false;
  // After part of a block, the first of several chunks ends at a block boundary (llmRequest.h,
  // setPrepopulatedPromptLen).
  const TokenCount block = context.kv.pool().block_tokens;
  const TokenCount over = (cached + piece) % block;
  if (cached % block > 0 && cached + piece < request.known_tokens && over < piece) piece -= over;
  const TrtllmCapacity::Need need = capacity_->need(request, context.kv.pool());
  const KvGrowth growth{.id = id,
                        .request = &request,
                        .cached_tokens = cached,
                        .hold_tokens = cached + piece,
                        .is_unknown = true,
                        .fit_tokens = need.tokens,
                        .final_tokens = TokenCount{request.prompt_tokens} + request.reserved_output,
                        .keep_free = need.keep_free};
  if (!context.kv.try_grow(growth)) return false;
  capacity_->on_chunk(id, request, cached + piece, context.kv.pool());
  waiting_.remove(id);
  started_.push_back(id);
  prompts_.push_back({.id = id,
                      .found = cached,
                      .computed = cached,
                      .held = cached + piece,
                      .known = request.known_tokens,
                      .piece = piece,
                      .starts = true});
  left -= piece;
  --seats_left_;
  return true;
}

// Prompts are cut only with chunking; a longer one than a step is an error to the engine.
bool TrtllmScheduler::can_never_run(const Request& request) const {
  return !options_.enable_chunked_prefill &&
         request.prompt_tokens > options_.max_num_batched_tokens;
}

// Whether a prompt in computation contains, beyond what it found in the cache, a whole block that
// `request` begins with, too: one step later that block can be reused.
bool TrtllmScheduler::waits_to_reuse(const PlanContext& context, const Request& request) const {
  if (!options_.finds_prefixes || request.prefix.empty()) return false;
  if (capacity_policy_ == CapacityPolicy::static_batch) return false;
  const TokenCount block = context.kv.pool().block_tokens;
  return std::any_of(prompts_.begin(), prompts_.end(), [&](const Prompt& prompt) {
    // At least one token of `request` is computed whatever the cache holds.
    const TokenCount common =
        std::min<TokenCount>(common_prefix(request.prefix, context.requests[prompt.id].prefix),
                             request.known_tokens - 1);
    return common / block * block > prompt.found;
  });
}

// --- requests that leave ------------------------------------------------------------------------

void TrtllmScheduler::forget_prompt(RequestId id) {
  late_prefixes_.forget(id);
  std::erase_if(prompts_, [id](const Prompt& prompt) { return prompt.id == id; });
}

bool TrtllmScheduler::on_leave(RequestId id) {
  if (waiting_.contains(id)) {
    waiting_.remove(id);
    return true;
  }
  HEADROOM_CHECK(started_.contains(id), "a request leaves that is not here");
  started_.remove(id);
  capacity_->on_leave(id);
  forget_prompt(id);
  return true;
}

void TrtllmScheduler::on_engine_lost() {
  started_.clear();
  prompts_.clear();
  late_prefixes_.clear();
  waits_since_ = -1;
  capacity_->on_engine_lost();
}

namespace {

std::vector<OwnRow> trtllm_rows() {
  using T = TrtllmScheduling;
  static const std::string kCapacityNames = choices_in<CapacityPolicy>(kCapacityPolicies);
  return own_rows<T>({
      {.name = "enable_block_reuse",
       .field = &T::enable_block_reuse,
       .doc = "reuse the blocks of earlier prompts with the same beginning"},
      {.name = "enable_partial_reuse",
       .field = &T::enable_partial_reuse,
       .doc = "also reuse the common beginning of a partly equal block"},
      {.name = "copy_on_partial_reuse",
       .field = &T::copy_on_partial_reuse,
       .doc = "allow that for blocks in use or with successors too, by copying"},
      {.name = "capacity_scheduler_policy",
       .field = &T::capacity_scheduler_policy,
       .choices = kCapacityNames,
       .doc = "when a request may start: if it is sure to fit to its end, if it fits now, or batch "
              "by batch"},
      {.name = "batch_wait_timeout_iters",
       .field = &T::batch_wait_timeout_iters,
       .unit = "steps",
       .bounds = {.low = 0, .high = 1e6},
       .doc = "prompts wait for others while decodes run, at most for so many steps; 0 = never"},
      {.name = "batch_wait_max_tokens_ratio",
       .field = &T::batch_wait_max_tokens_ratio,
       .unit = "share",
       .bounds = {.low = 0, .high = 1},
       .doc = "of max_num_tokens: a step that is fuller does not wait"},
      {.name = "attention_dp_enable_balance",
       .field = &T::attention_dp_enable_balance,
       .doc = "data ranks compute prompts together: they wait until every rank has one"},
      {.name = "attention_dp_time_out_iters",
       .field = &T::attention_dp_time_out_iters,
       .unit = "steps",
       .bounds = {.low = 1, .high = 1e6},
       .doc = "at most for so many steps, while every rank decodes"},
      {.name = "attention_dp_batching_wait_iters",
       .field = &T::attention_dp_batching_wait_iters,
       .unit = "steps",
       .bounds = {.low = 0, .high = 1e6},
       .doc = "that they wait for more prompts, when every rank has one"},
      {.name = "context_chunking_policy",
       .field = &T::context_chunking_policy,
       .choices = "FIRST_COME_FIRST_SERVED|EQUAL_PROGRESS",
       .doc = "how prompts share a step's tokens with enable_chunked_prefill"},
  });
}

void check_switches(const Origins& given, OptionBag& own, std::int64_t /*max_num_seqs*/) {
  const auto& t = own.get<TrtllmScheduling>();
  const std::string partial = "/engine/enable_partial_reuse";
  if (given.is_given(partial) && !t.enable_block_reuse) {
    given.refuse_unused(partial, "; only with enable_block_reuse");
  }
  for (const std::string pointer :
       {"/engine/attention_dp_time_out_iters", "/engine/attention_dp_batching_wait_iters"}) {
    if (given.is_given(pointer) && !t.attention_dp_enable_balance) {
      given.refuse_unused(pointer, "; only with attention_dp_enable_balance");
    }
  }
  const std::string copy = "/engine/copy_on_partial_reuse";
  if (given.is_given(copy) && !(t.enable_block_reuse && t.enable_partial_reuse)) {
    given.refuse_unused(copy, "; only with enable_partial_reuse");
  }
}

}  // namespace

const BatchPolicy& trtllm_policy() {
  static const BatchPolicy kPolicy{
      .name = "trtllm",
      .doc = "TensorRT-LLM: in-flight batching, KV reserved to completion",
      .traits = {.has_token_budget = true,
                 .plans_ahead = true,
                 .has_stages = true,
                 .seats_per_stage = true,
                 .has_data_ranks = true,
                 .drafts = true,
                 .drafts_need_room = true,
                 .keeps_prompt_logprobs = true,
                 .enable_chunked_prefill = false},
      .allocators = {"paged"},
      .takes = {"enable_chunked_prefill", "kv_offloading_disk_gib", "kv_offloading_gb_per_s",
                "speculative_config/method"},
      .options = trtllm_rows,
      .finds_prefixes = [](const OptionBag& own,
                           bool) { return own.get<TrtllmScheduling>().enable_block_reuse; },
      .block_sharing =
          [](const OptionBag& own) {
            const auto& t = own.get<TrtllmScheduling>();
            return BlockSharing{t.enable_partial_reuse, t.copy_on_partial_reuse};
          },
      .promises_completion =
          [](const OptionBag& own) {
            const std::string& policy = own.get<TrtllmScheduling>().capacity_scheduler_policy;
            return value_named<CapacityPolicy>(policy, kCapacityPolicies) !=
                   CapacityPolicy::max_utilization;
          },
      .rank_rules =
          [](const OptionBag& own) {
            const auto& t = own.get<TrtllmScheduling>();
            return RankRules{.choice = RankChoice::shares,
                             .prompts_together = t.attention_dp_enable_balance,
                             .timeout_plans = t.attention_dp_time_out_iters,
                             .batching_plans = t.attention_dp_batching_wait_iters};
          },
      .settle = check_switches,
      .make = [](const SchedulerOptions& options,
                 const KvAllocator&) -> std::unique_ptr<BatchScheduler> {
        return std::make_unique<TrtllmScheduler>(options);
      }};
  return kPolicy;
}

}  // namespace headroom
