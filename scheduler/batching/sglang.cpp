#include "scheduler/batching/sglang.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/named_value.hpp"
#include "sim/serving/kv_layout.hpp"

namespace headroom {

namespace {

constexpr NamedValue<SglangOrder> kOrders[] = {{"fcfs", SglangOrder::fcfs},
                                               {"lpm", SglangOrder::lpm},
                                               {"dfs-weight", SglangOrder::dfs_weight},
                                               {"lof", SglangOrder::lof},
                                               {"random", SglangOrder::random}};

// Data ranks (managers/data_parallel_controller.py, LoadBalanceMethod).
constexpr NamedValue<RankChoice> kRankChoices[] = {{"round_robin", RankChoice::in_turn},
                                                   {"total_requests", RankChoice::fewest_requests},
                                                   {"total_tokens", RankChoice::fewest_tokens}};

constexpr TokenCount kMostNewTokens = 4096;  // SGLang, CLIP_MAX_NEW_TOKENS

// Prompt and output that a request alone in the pool is admitted with: SGLang's max_req_len less
// its own allowances, = pool - 2 with pages of one token. Longer pages cost their rounding.
TokenCount room(const KvPoolState& pool) { return (pool.total_blocks - 3) * pool.block_tokens + 1; }

TokenCount max_output(const Request& request, const KvPoolState& pool) {
  return std::clamp<TokenCount>(room(pool) - request.prompt_tokens, 0, request.max_tokens);
}

// Estimate of the tokens that a request with `generated` will still need.
TokenCount output_to_come(const Request& request, TokenCount generated, const KvPoolState& pool) {
  return std::clamp<TokenCount>(max_output(request, pool) - generated, 0, kMostNewTokens);
}

TokenCount whole_pages(TokenCount tokens, std::int32_t page) { return tokens / page * page; }

}  // namespace

SglangScheduler::SglangScheduler(const SchedulerOptions& options)
    : options_(options),
      own_(options.own.get<SglangScheduling>()),
      waiting_(value_named<SglangOrder>(own_.schedule_policy, kOrders), options.seed),
      late_prefixes_(options.finds_prefixes),
      ratio_(own_.schedule_conservativeness * own_.conservativeness_factor),
      drafts_(options.speculation) {
  HEADROOM_CHECK(
      options.max_num_seqs >= 1 && own_.max_prefill_tokens >= 1 &&
          own_.schedule_conservativeness > 0,
      fmt::format("{} requests, {} prefill tokens, conservativeness {}", options.max_num_seqs,
                  own_.max_prefill_tokens, own_.schedule_conservativeness));
}

void SglangScheduler::enqueue(RequestId id, const Request& request) {
  if (own_.scheduler_recv_interval > 1) return unread_.push_back(id);
  waiting_.enqueue(id, request);
}

// The engine reads its socket at once when it is idle or behind a prefill batch, otherwise in every
// nth plan of decodes.
void SglangScheduler::read_arrivals(const PlanContext& context) {
  const std::int64_t interval = own_.scheduler_recv_interval;
  if (interval <= 1) return;
  const StepIndex since = context.decodes_planned - last_read_;
  const bool at_once = idle_ || last_was_prefill_ || context.decodes.size() == 0;
  if (!at_once && (since == 0 || since % interval != 0)) return;
  last_read_ = context.decodes_planned;
  while (!unread_.empty()) {
    const RequestId id = unread_.front();
    unread_.remove(id);
    waiting_.enqueue(id, context.requests[id]);
  }
}

// Until the next look at new requests.
StepCount SglangScheduler::steps_to_read(const PlanContext& context) const {
  if (unread_.empty()) return kManySteps;
  const std::int64_t interval = own_.scheduler_recv_interval;
  return interval - (context.decodes_planned - last_read_) % interval;
}

void SglangScheduler::plan(const PlanContext& context, BatchPlan& plan) {
  if (context.part == PlanPart::decodes) return decode(context, plan);
  if (idle_) ratio_.start_anew(context.decodes_planned);
  read_arrivals(context);
  idle_ = false;
  late_prefixes_.publish_due(context);
  filter_last_batch();
  if (!may_prefill()) return decode(context, plan);

  const bool mixed = own_.enable_mixed_chunk && context.decodes.size() > 0;
  if (mixed || context.decodes_go_on) return plan_beside(context, plan, mixed);
  const bool alone = seats_taken() == 0;
  build_prefill_batch(context, plan, budget_for(0));
  if (plan.chunks.empty()) return decode(context, plan);
  if (alone || own_.enable_mixed_chunk) batch_is_full_ = false;
  if (own_.enable_mixed_chunk)
    finished_ = 0;  // the running batch is merged in, although it is empty
  plan.decodes_pause = true;
  last_was_prefill_ = true;
}

// Decodes take their token in the step of a prefill batch. `mixed`: they are part of it, and its
// tokens. Else they are not, but go on because other data ranks do.
void SglangScheduler::plan_beside(const PlanContext& context, BatchPlan& plan, bool mixed) {
  if (blocks_for_decodes(context) > context.kv.pool().free_blocks) return decode(context, plan);
  const std::int64_t rows = context.decodes.size();
  const bool alone = seats_taken() == 0;
  take_decodes(context, plan);
  Budget budget = budget_for(mixed ? rows + finished_ : 0);
  if (mixed) budget.set_aside = finished_;  // one token each, as for those that do decode
  build_prefill_batch(context, plan, budget);
  if (plan.chunks.empty()) {
    filter_running();
    return finish_decode_plan(context, plan);
  }
  // Beside prompts nobody drafts.
  for (VerifiedRow& row : plan.verified) row.tokens = 1;
  if (alone || own_.enable_mixed_chunk) batch_is_full_ = false;
  if (own_.enable_mixed_chunk) finished_ = 0;
  last_was_prefill_ = true;
  last_was_mixed_ = mixed;
  ratio_.skip_step();
}

// Those of the prefill batch before that have finished are dropped before it joins the others.
void SglangScheduler::filter_last_batch() {
  if (last_shrank_) batch_is_full_ = false;
  last_completed_.clear();
  last_was_prefill_ = last_was_mixed_ = last_shrank_ = false;
}

// Before the running requests decode.
void SglangScheduler::filter_running() {
  if (finished_ > 0 || running_.empty()) batch_is_full_ = false;
  finished_ = 0;
}

bool SglangScheduler::may_prefill() const {
  if (chunked_ != kNoRequest) return true;
  return !waiting_.empty() && !batch_is_full_ && seats_taken() < options_.max_num_seqs;
}

SglangScheduler::Budget SglangScheduler::budget_for(std::int64_t decodes_beside) const {
  const TokenCount chunk = own_.chunked_prefill_size > 0 ? own_.chunked_prefill_size : INT32_MAX;
  return {.input = own_.max_prefill_tokens - decodes_beside, .chunk = chunk - decodes_beside};
}

void SglangScheduler::build_prefill_batch(const PlanContext& context, BatchPlan& plan,
                                          Budget budget) {
  const bool admits = !waiting_.empty() && !batch_is_full_;
  if (admits) budget.set_aside += output_for_running(context);
  continue_chunked(context, plan, budget);
  // After the last piece of a prompt one more request is tested, even if it could take no token.
  const bool has_room = budget.chunk > 0 || !plan.chunks.empty();
  if (admits && chunked_ == kNoRequest && has_room) admit_waiting(context, plan, budget);
}

void SglangScheduler::continue_chunked(const PlanContext& context, BatchPlan& plan,
                                       Budget& budget) {
  if (chunked_ == kNoRequest) return;
  const RequestId id = chunked_;
  const Request& request = context.requests[id];
  const KvPoolState& pool = context.kv.pool();
  const std::int32_t page = pool.block_tokens;
  const TokenCount computed = request.computed_tokens;
  const TokenCount left = request.known_tokens - computed;
  TokenCount tokens = std::min(left, budget.chunk);
  if (pool.grows_with_decode) {
    tokens = std::min(tokens, (blocks_needed(computed, page) + pool.free_blocks) * page - computed);
  }
  if (tokens < left) tokens = whole_pages(tokens, page);
  if (tokens <= 0) return;
  const KvGrowth growth{.id = id,
                        .request = &request,
                        .hold_tokens = computed + tokens,
                        .is_unknown = true,
                        .fit_tokens = computed + tokens};
  if (!context.kv.try_grow(growth)) return;
  note_computed(id, computed + tokens, tokens == left);
  plan.chunks.push_back({.id = id,
                         .context_tokens = request.computed_tokens,
                         .tokens = static_cast<std::int32_t>(tokens),
                         .samples = tokens == left});
  budget.input -= tokens;
  budget.chunk -= tokens;
  if (tokens < left) return;
  chunked_ = kNoRequest;
  running_.push_back(id);
  budget.set_aside +=
      output_to_come(request, request.known_tokens - request.prompt_tokens, pool) + page;
}

void SglangScheduler::admit_waiting(const PlanContext& context, BatchPlan& plan, Budget& budget) {
  waiting_.arrange(context);
  for (RequestId id = waiting_.front(); id != kNoRequest && chunked_ == kNoRequest;
       id = waiting_.front()) {
    const TokenCount longest = room(context.kv.pool()) - drafts_.slots();
    const bool never_fits = context.requests[id].known_tokens > longest;
    if (!never_fits) {
      const bool alone = seats_taken() == 0;
      const bool seat = seats_taken() < options_.max_num_seqs;
      const Added added = seat ? add_waiting(context, plan, id, budget) : Added::no_token;
      if (added == Added::other) return;
      batch_is_full_ = added == Added::no_token && !alone;
      if (batch_is_full_) return;
      if (added == Added::taken) {
        if (budget.input <= 0 || budget.chunk <= 0) return;  // the next one is not tested
        continue;
      }
    }
    waiting_.pop_front();
    plan.rejected.push_back(id);
  }
}

SglangScheduler::Added SglangScheduler::add_waiting(const PlanContext& context, BatchPlan& plan,
                                                    RequestId id, Budget& budget) {
  const Request& request = context.requests[id];
  const KvPoolState& pool = context.kv.pool();
  const std::int32_t page = pool.block_tokens;
  HEADROOM_CHECK(own_.chunked_prefill_size % page == 0, "chunks are of whole pages");
  const TokenCount cached = context.kv.cached_prefix(id, request);
  const TokenCount extend = request.known_tokens - cached;
  const TokenCount output =
      page + output_to_come(request, request.known_tokens - request.prompt_tokens, pool);
  if (extend + output + budget.set_aside >= pool.free_blocks * page) return Added::no_token;
  if (extend > budget.input && !plan.chunks.empty()) return Added::other;
  const TokenCount tokens = extend > budget.chunk ? whole_pages(budget.chunk, page) : extend;
  if (tokens <= 0) return Added::other;

  // The same test again, less the cached pages that are free now and would be taken by the hit.
  const KvGrowth growth{.id = id,
                        .request = &request,
                        .cached_tokens = cached,
                        .hold_tokens = cached + tokens,
                        .is_unknown = true,
                        .fit_tokens = request.known_tokens,
                        .final_tokens = TokenCount{request.prompt_tokens} + request.reserved_output,
                        .keep_free = blocks_needed(output + budget.set_aside + 1, page)};
  if (!context.kv.try_grow(growth)) return Added::no_token;
  waiting_.pop_front();
  note_computed(id, cached + tokens, tokens == extend);
  plan.chunks.push_back({.id = id,
                         .context_tokens = static_cast<std::int32_t>(cached),
                         .tokens = static_cast<std::int32_t>(tokens),
                         .admits = true,
                         .samples = tokens == extend});
  budget.input -= tokens;
  budget.chunk -= tokens;
  if (tokens == extend) {
    running_.push_back(id);
    budget.set_aside += output;
  } else {
    chunked_ = id;
  }
  return Added::taken;
}

void SglangScheduler::note_computed(RequestId id, TokenCount tokens, bool completes) {
  late_prefixes_.add(id, tokens, completes ? options_.pipeline_depth : 1);
  if (!completes) return;
  last_completed_.push_back(id);
  if (drafts_.any()) drafts_.begin(id, tokens);
}

TokenCount SglangScheduler::output_for_running(const PlanContext& context) const {
  TokenCount to_come = 0;
  for (RequestId id = running_.front(); id != kNoRequest; id = running_.after(id)) {
    const Request& request = context.requests[id];
    to_come += output_to_come(request, context.generated(request), context.kv.pool());
  }
  return static_cast<TokenCount>(ratio_.at(context.decodes_planned) * static_cast<double>(to_come));
}

void SglangScheduler::decode(const PlanContext& context, BatchPlan& plan) {
  if (context.part == PlanPart::prompts) return;  // asked for later, if at all
  const bool is_dropping = finished_ > 0;
  filter_running();
  if (blocks_for_decodes(context) > context.kv.pool().free_blocks) return retract(context, plan);
  take_decodes(context, plan);
  // No request is left to decode: the engine looks at the queue again at once.
  if (is_dropping && context.decodes.size() == 0) plan.wake_at_ns = context.now_ns;
  finish_decode_plan(context, plan);
}

BlockCount SglangScheduler::blocks_for_decodes(const PlanContext& context) const {
  return drafts_.any() ? drafts_.blocks_needed(context, running_) : context.decodes.blocks_needed();
}

void SglangScheduler::take_decodes(const PlanContext& context, BatchPlan& plan) {
  if (drafts_.any()) drafts_.plan(context, running_, plan);
  context.take_decodes();
}

// Nothing is planned. With a step in flight the engine has its result to look at first.
void SglangScheduler::note_idle(const PlanContext& context) {
  idle_ = running_.empty() && chunked_ == kNoRequest && context.decodes_in_flight == 0;
}

// The decodes are taken and there is no chunk. The same step repeats until the pool is used up if
// waiting requests must wait until a running one leaves: the batch is full, or decodes beside a
// chunk would use up its tokens.
void SglangScheduler::finish_decode_plan(const PlanContext& context, BatchPlan& plan) {
  if (context.decodes.size() == 0) {
    note_idle(context);
    if (!context.decodes_go_on) return;
  }
  const std::int64_t beside = own_.enable_mixed_chunk ? context.decodes.size() : 0;
  const bool admits =
      !batch_is_full_ && seats_taken() < options_.max_num_seqs && budget_for(beside).chunk > 0;
  // Where the engine reads its socket now and then, a plan has to know of each arrival to count
  // the steps until then.
  plan.arrivals_can_join = admits || own_.scheduler_recv_interval > 1;
  if (chunked_ != kNoRequest || (admits && !waiting_.empty()) || late_prefixes_.any()) return;
  plan.steady_steps =
      std::min(context.steady_decodes(context.kv.pool().free_blocks), steps_to_read(context));
}

// Those that may be retracted, the first victim first.
void SglangScheduler::find_candidates(const PlanContext& context) {
  candidates_.clear();
  for (RequestId id = running_.front(); id != kNoRequest; id = running_.after(id)) {
    const Request& request = context.requests[id];
    candidates_.push_back(
        {id, context.generated(request), request.prompt_tokens, request.admission});
  }
  if (own_.retracts_latest) {
    std::ranges::reverse(candidates_);
  } else {
    order_by_retraction(candidates_);
  }
}

// The pool has no room for one more decode step. At least one request goes (one whose last step is
// in flight like any other); the last one only if there is no room for it alone.
void SglangScheduler::retract(const PlanContext& context, BatchPlan& plan) {
  find_candidates(context);
  const KvPoolState& pool = context.kv.pool();
  std::size_t gone = 0;
  std::int64_t left = running_.size();
  for (; left > 0; --left) {
    const bool fits = blocks_for_decodes(context) <= pool.free_blocks;
    const bool headroom = pool.free_blocks * pool.block_tokens >= left * own_.retraction_headroom;
    if (fits && (left == 1 || (headroom && gone > 0))) break;
    const RequestId id = candidates_[gone++].id;
    context.preempt(id, plan, KvRelease::dropped);
    running_.remove(id);
    late_prefixes_.forget(id);
    waiting_.enqueue(id, context.requests[id]);
  }
  batch_is_full_ = false;

  TokenCount decoded = 0;
  TokenCount most = 0;
  for (std::size_t i = gone; i < candidates_.size(); ++i) {
    decoded += candidates_[i].output_tokens;
    most += max_output(context.requests[candidates_[i].id], pool);
  }
  const StepIndex steps = context.decodes.size() > 0 ? 1 : 0;
  ratio_.set(ratio_after_retraction(decoded, left, most), context.decodes_planned + steps);
  take_decodes(context, plan);
  if (steps > 0) return;
  plan.wake_at_ns = context.now_ns;  // those that wait now may be admitted
  note_idle(context);
}

bool SglangScheduler::on_leave(RequestId id) {
  if (unread_.contains(id)) {
    unread_.remove(id);
    return true;
  }
  if (waiting_.contains(id)) {
    waiting_.remove(id);
    return true;
  }
  late_prefixes_.forget(id);
  if (chunked_ == id) {
    chunked_ = kNoRequest;
    batch_is_full_ = false;
    return true;
  }
  running_.remove(id);
  const bool was_in_last =
      last_was_prefill_ && (last_was_mixed_ || std::ranges::count(last_completed_, id) > 0);
  if (was_in_last) {
    last_shrank_ = true;
  } else {
    ++finished_;
  }
  return true;
}

void SglangScheduler::on_engine_lost() {
  running_.clear();
  late_prefixes_.clear();
  finished_ = 0;
  filter_last_batch();
  chunked_ = kNoRequest;
  batch_is_full_ = false;
  idle_ = true;
}

namespace {

std::vector<OwnRow> sglang_rows() {
  using S = SglangScheduling;
  static const std::string kOrderNames = choices_in<SglangOrder>(kOrders);
  static const std::string kRankNames = choices_in<RankChoice>(kRankChoices);
  return own_rows<S>({
      {.name = "scheduler_recv_interval",
       .field = &S::scheduler_recv_interval,
       .unit = "steps",
       .bounds = {.low = 1, .high = 1e6},
       .doc = "decode steps between two looks at new requests; 1 = before every step"},
      {.name = "schedule_policy",
       .field = &S::schedule_policy,
       .choices = kOrderNames,
       .doc = "order of the queue"},
      {.name = "schedule_conservativeness",
       .field = &S::schedule_conservativeness,
       .bounds = {.low = 0, .high = 100, .low_open = true},
       .doc = "factor on the output that an admission expects from running requests"},
      {.name = "enable_mixed_chunk",
       .field = &S::enable_mixed_chunk,
       .doc = "run decodes together with prefill chunks instead of pausing them"},
      {.name = "load_balance_method",
       .field = &S::load_balance_method,
       .choices = kRankNames,
       .doc = "data ranks: which one gets a request"},
  });
}

// Chunks are whole pages of the pool.
std::unique_ptr<BatchScheduler> make_sglang(SchedulerOptions options, const KvAllocator& kv) {
  const std::int32_t page = kv.pool().block_tokens;
  std::int64_t& chunk = options.own.edit<SglangScheduling>().chunked_prefill_size;
  chunk = blocks_needed(std::max<std::int64_t>(0, chunk), page) * page;
  return std::make_unique<SglangScheduler>(options);
}

}  // namespace

const BatchPolicy& sglang_policy() {
  static const BatchPolicy kPolicy{
      .name = "sglang",
      .doc = "SGLang: separate prefill batches, admission by estimated output, retraction",
      .traits = {.plans_ahead = true,
                 .has_data_ranks = true,
                 .drafts = true,
                 .keeps_prompt_logprobs = true,
                 .merges_copies = true,
                 .runs_past_max_tokens = true},
      .allocators = {"paged"},
      .takes = {"speculative_config/method"},
      .options = sglang_rows,
      .finds_prefixes = [](const OptionBag& own,
                           bool) { return !own.get<SglangScheduling>().disable_radix_cache; },
      .prompt_tokens =
          [](const OptionBag& own) {
            return std::max<std::int64_t>(0, own.get<SglangScheduling>().chunked_prefill_size);
          },
      .rank_rules =
          [](const OptionBag& own) {
            const std::string& method = own.get<SglangScheduling>().load_balance_method;
            return RankRules{.choice = value_named<RankChoice>(method, kRankChoices),
                             .prompts_alone = !own.get<SglangScheduling>().enable_mixed_chunk};
          },
      .make = [](const SchedulerOptions& options,
                 const KvAllocator& kv) { return make_sglang(options, kv); }};
  return kPolicy;
}

}  // namespace headroom
