// SGLang's prefill batches (managers/schedule_policy.py, PrefillAdder).

#include <algorithm>
#include <cmath>

#include "scheduler/batching/sglang.hpp"
#include "sim/kernel/check.hpp"
#include "sim/serving/kv_layout.hpp"

namespace headroom {

namespace {

constexpr TokenCount kMostNewTokens = 4096;  // SGLang, CLIP_MAX_NEW_TOKENS

// Most pools have pages of one token: they are spared a division for every running request.
TokenCount in_pages(TokenCount tokens, std::int32_t page) {
  return page == 1 ? tokens : blocks_needed(tokens, page) * page;
}

TokenCount whole_pages(TokenCount tokens, std::int32_t page) { return tokens / page * page; }

// Free tokens beyond those that are set aside (rem_total_tokens).
double tokens_left(const KvPoolState& pool, double set_aside) {
  return static_cast<double>(pool.free_blocks * pool.block_tokens) - set_aside;
}

}  // namespace

// Releases that do not cut max_new_tokens in pages promise more than a pool of long pages may hold,
// and never serve such a request. Here its pages are left out, so that it is served.
TokenCount SglangScheduler::room(const KvPoolState& pool) const {
  if (own_.rules.clips_in_pages) return (pool.total_blocks - 1) * pool.block_tokens - 1;
  return (pool.total_blocks - 3) * pool.block_tokens + 1;
}

TokenCount SglangScheduler::max_output(const Request& request, const KvPoolState& pool) const {
  TokenCount prompt = request.prompt_tokens;
  if (own_.rules.clips_in_pages) prompt = in_pages(prompt, pool.block_tokens);
  return std::clamp<TokenCount>(room(pool) - prompt, 0, request.max_tokens);
}

TokenCount SglangScheduler::output_to_come(const Request& request, TokenCount generated,
                                           const KvPoolState& pool) const {
  return std::clamp<TokenCount>(max_output(request, pool) - generated, 0, kMostNewTokens);
}

// Output tokens of a running request that the engine has read: those of a step in flight are not.
std::int32_t SglangScheduler::read_output(const PlanContext& context, RequestId id) const {
  const Request& request = context.requests[id];
  const std::int32_t planned = context.generated(request);
  if (options_.pipeline_depth < 2) return planned;
  // Its first one may be that of a prefill batch in flight.
  const bool in_flight =
      context.decodes_in_flight > 0 || (request.anchor_decode == context.decodes_planned &&
                                        std::ranges::count(before_completed_, id) > 0);
  return in_flight ? planned - 1 : planned;
}

// The sum over read_output(), whose tests are the same for all while decodes are in flight.
// Requests that do not declare max_tokens have more to come than the estimate counts for most of
// their lives: then it need not look at them.
double SglangScheduler::output_for_running(const PlanContext& context) {
  const KvPoolState& pool = context.kv.pool();
  TokenCount to_come = finished_output_;
  if (context.decodes_planned < all_capped_until_ && !drafts_.any()) {
    to_come += kMostNewTokens * running_.size();
    return ratio_.at(context.decodes_planned) * static_cast<double>(to_come);
  }
  const bool all_in_flight = options_.pipeline_depth >= 2 && context.decodes_in_flight > 0;
  TokenCount fewest = kManySteps;
  for (RequestId id = running_.front(); id != kNoRequest; id = running_.after(id)) {
    const Request& request = context.requests[id];
    const std::int32_t read =
        all_in_flight ? context.generated(request) - 1 : read_output(context, id);
    const TokenCount left = max_output(request, pool) - read;
    fewest = std::min(fewest, left);
    to_come += std::clamp<TokenCount>(left, 0, kMostNewTokens);
  }
  // A decode takes one token of each, and the one in flight may be read at once.
  all_capped_until_ = context.decodes_planned + fewest - kMostNewTokens - 1;
  return ratio_.at(context.decodes_planned) * static_cast<double>(to_come);
}

// `request` joins the running ones.
void SglangScheduler::join_running(const PlanContext& context, RequestId id) {
  const Request& request = context.requests[id];
  running_.push_back(id);
  const TokenCount generated = request.known_tokens - request.prompt_tokens;
  const TokenCount left = max_output(request, context.kv.pool()) - generated;
  all_capped_until_ =
      std::min(all_capped_until_, context.decodes_planned + left - kMostNewTokens - 2);
}

SglangScheduler::Budget SglangScheduler::budget_for(std::int64_t decodes_beside) const {
  const TokenCount chunk = own_.chunked_prefill_size > 0 ? own_.chunked_prefill_size : INT32_MAX;
  std::int64_t taken = seats_taken();
  if (own_.rules.counts_rows) {
    taken = std::max(taken, running_.size() + (chunked_ != kNoRequest ? 1 : 0));
  }
  return {.input = own_.max_prefill_tokens - decodes_beside,
          .chunk = chunk - decodes_beside,
          .seats = options_.max_num_seqs - taken};
}

void SglangScheduler::build_prefill_batch(const PlanContext& context, BatchPlan& plan,
                                          Budget budget) {
  const bool admits = !waiting_.empty() && !batch_is_full_;
  budget.set_aside += output_for_running(context);
  continue_chunked(context, plan, budget);
  // After the last piece of a prompt one more request is tested, even if it could take no token.
  const bool has_room = budget.chunk > 0 || !plan.chunks.empty() || own_.rules.stops_when_spent;
  if (admits && chunked_ == kNoRequest && has_room) admit_waiting(context, plan, budget);
  context.kv.take(0);  // the batch is complete
}

// Tokens of the next piece of `request`.
TokenCount SglangScheduler::next_piece(const Request& request, const KvPoolState& pool,
                                       const Budget& budget) const {
  const std::int32_t page = pool.block_tokens;
  const TokenCount computed = request.computed_tokens;
  const TokenCount left = request.known_tokens - computed;
  // Where less than nothing is left beside what others will generate, they are not minded.
  const auto beyond = static_cast<TokenCount>(tokens_left(pool, budget.set_aside));
  TokenCount tokens = std::min(left, budget.chunk);
  if (own_.rules.pieces_leave_output && beyond > 0) tokens = std::min(tokens, beyond);
  if (!pool.grows_with_decode) return tokens;
  return std::min(tokens, (blocks_needed(computed, page) + pool.free_blocks) * page - computed);
}

void SglangScheduler::continue_chunked(const PlanContext& context, BatchPlan& plan,
                                       Budget& budget) {
  if (chunked_ == kNoRequest) return;
  const RequestId id = chunked_;
  const Request& request = context.requests[id];
  const KvPoolState& pool = context.kv.pool();
  const TokenCount computed = request.computed_tokens;
  const TokenCount left = request.known_tokens - computed;
  const TokenCount tokens = next_piece(request, pool, budget);
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
  note_added(request, plan.chunks.back(), pool, budget);
  if (tokens < left) return;
  chunked_ = kNoRequest;
  join_running(context, id);
}

// `chunk` of `request` is part of the batch, and its blocks are taken.
void SglangScheduler::note_added(const Request& request, const Chunk& chunk,
                                 const KvPoolState& pool, Budget& budget) const {
  const std::int32_t page = pool.block_tokens;
  const TokenCount end = TokenCount{chunk.context_tokens} + chunk.tokens;
  const TokenCount taken = in_pages(end, page) - in_pages(chunk.context_tokens, page);
  const TokenCount counted =
      own_.rules.counts_pages ? in_pages(chunk.tokens, page) : TokenCount{chunk.tokens};
  budget.input -= counted;
  budget.chunk -= counted;
  TokenCount aside = counted - taken;
  if (own_.rules.adds_page) aside += page;
  if (chunk.samples) aside += output_to_come(request, 0, pool);
  budget.set_aside += static_cast<double>(aside);
}

void SglangScheduler::admit_waiting(const PlanContext& context, BatchPlan& plan, Budget& budget) {
  waiting_.arrange(context);
  const KvPoolState& pool = context.kv.pool();
  for (RequestId id = waiting_.front(); id != kNoRequest && chunked_ == kNoRequest;
       id = waiting_.front()) {
    const bool spent = budget.input <= 0 || budget.chunk <= 0;
    if (own_.rules.stops_when_spent && spent && tokens_left(pool, budget.set_aside) > 0) return;
    const bool never_fits = context.requests[id].known_tokens > room(pool) - drafts_.slots();
    if (!never_fits) {
      const bool alone = seats_taken() == 0;
      const bool seat = static_cast<std::int64_t>(plan.chunks.size()) < budget.seats;
      const Added added = seat ? add_waiting(context, plan, id, budget) : Added::no_token;
      if (added == Added::other) return;
      batch_is_full_ = added == Added::no_token ? !alone : tokens_left(pool, budget.set_aside) <= 0;
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

// Free tokens that `request` must find less than (total_tokens), behind a prefix of `cached`.
TokenCount SglangScheduler::wanted_tokens(const Request& request, TokenCount cached,
                                          const KvPoolState& pool, bool alone) const {
  const bool all = !own_.rules.expects_rest && !alone;  // alone: it would never be served
  const TokenCount generated = all ? 0 : request.known_tokens - request.prompt_tokens;
  const TokenCount wanted =
      request.known_tokens - cached + output_to_come(request, generated, pool);
  return own_.rules.tests_page ? wanted + pool.block_tokens : wanted;
}

SglangScheduler::Added SglangScheduler::add_waiting(const PlanContext& context, BatchPlan& plan,
                                                    RequestId id, Budget& budget) {
  const Request& request = context.requests[id];
  const KvPoolState& pool = context.kv.pool();
  const std::int32_t page = pool.block_tokens;
  HEADROOM_CHECK(own_.chunked_prefill_size % page == 0, "chunks are of whole pages");
  const TokenCount cached = context.kv.cached_prefix(id, request);
  const TokenCount extend = request.known_tokens - cached;
  const TokenCount counted = own_.rules.counts_pages ? in_pages(extend, page) : extend;
  const auto wanted = static_cast<double>(
      wanted_tokens(request, cached, pool, seats_taken() == 0 && plan.chunks.empty()));
  if (wanted >= tokens_left(pool, budget.set_aside)) return Added::no_token;
  const bool is_limited = own_.rules.limits_pieces || own_.chunked_prefill_size <= 0;
  const TokenCount limit = own_.rules.counts_pages ? budget.input - 1 : budget.input;
  if (is_limited && counted > limit && !plan.chunks.empty()) return Added::other;
  const TokenCount tokens = counted > budget.chunk ? whole_pages(budget.chunk, page) : extend;
  if (tokens <= 0) return Added::other;

  // The same test again, less the cached pages that are free now and would be taken by the hit.
  const auto needed = static_cast<TokenCount>(std::floor(wanted + budget.set_aside)) + 1;
  const BlockCount behind = blocks_needed(needed - in_pages(extend, page), page);
  const KvGrowth growth{.id = id,
                        .request = &request,
                        .cached_tokens = cached,
                        .hold_tokens = cached + tokens,
                        .is_unknown = true,
                        .fit_tokens = request.known_tokens,
                        .final_tokens = TokenCount{request.prompt_tokens} + request.reserved_output,
                        .keep_free = std::max<BlockCount>(0, behind)};
  if (!context.kv.try_grow(growth)) return Added::no_token;
  waiting_.pop_front();
  note_computed(id, cached + tokens, tokens == extend);
  plan.chunks.push_back({.id = id,
                         .context_tokens = static_cast<std::int32_t>(cached),
                         .tokens = static_cast<std::int32_t>(tokens),
                         .admits = true,
                         .samples = tokens == extend});
  note_added(request, plan.chunks.back(), pool, budget);
  if (tokens == extend) {
    join_running(context, id);
  } else {
    chunked_ = id;
  }
  return Added::taken;
}

}  // namespace headroom
