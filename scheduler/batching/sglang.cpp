#include "scheduler/batching/sglang.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/named_value.hpp"
#include "sim/serving/kv_layout.hpp"

namespace headroom {

SglangScheduler::SglangScheduler(const SchedulerOptions& options)
    : options_(options),
      own_(options.own.get<SglangScheduling>()),
      waiting_(value_named<SglangOrder>(own_.schedule_policy, kSglangOrders), options.seed),
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
  note_plan(context);
  if (idle_) ratio_.start_anew(context.decodes_planned);
  read_arrivals(context);
  idle_ = false;
  late_prefixes_.publish_due(context);
  filter_last_batch();
  if (own_.rules.filters_always) filter_running();
  if (!may_prefill()) return decode(context, plan);

  const bool mixed = own_.enable_mixed_chunk && context.decodes.size() > 0;
  if (mixed || context.decodes_go_on) return plan_beside(context, plan, mixed);
  const bool alone = seats_taken() == 0;
  build_prefill_batch(context, plan, mixed_budget(0));
  if (plan.chunks.empty()) return decode(context, plan);
  if (alone || own_.enable_mixed_chunk) batch_is_full_ = false;
  if (own_.enable_mixed_chunk) forget_finished();
  if (own_.enable_mixed_chunk) static_cast<void>(drop_ending(context));
  plan.decodes_pause = true;
  last_was_prefill_ = true;
}

// Decodes take their token in the step of a prefill batch. `mixed`: they are part of it, and its
// tokens. Else they are not, but go on because other data ranks do.
void SglangScheduler::plan_beside(const PlanContext& context, BatchPlan& plan, bool mixed) {
  if (blocks_for_decodes(context) > context.kv.pool().free_blocks) return decode(context, plan);
  const std::int64_t rows = context.decodes.size();
  const bool alone = seats_taken() == 0;
  const KvPoolState& pool = context.kv.pool();
  const BlockCount free = pool.free_blocks;
  take_decodes(context, plan);
  const TokenCount taken = (free - pool.free_blocks) * pool.block_tokens;
  const RequestId last = running_.back();
  build_prefill_batch(context, plan, mixed_budget(taken));
  if (plan.chunks.empty()) {
    if (finished_ > 0 && rows == 0) plan.wake_at_ns = context.now_ns;  // as in decode()
    filter_running();
    static_cast<void>(drop_ending(context));
    return finish_decode_plan(context, plan);
  }
  // Beside prompts nobody drafts.
  for (VerifiedRow& row : plan.verified) row.tokens = 1;
  if (alone || own_.enable_mixed_chunk) batch_is_full_ = false;
  if (own_.enable_mixed_chunk) forget_finished();
  if (mixed && !drafts_.any()) put_first(last);
  if (own_.enable_mixed_chunk) static_cast<void>(drop_ending(context));
  last_was_prefill_ = true;
  last_was_mixed_ = mixed;
  ratio_.skip_steps(1);
}

// At the start of a plan: what the requests that have left since the last one have generated, and
// decode steps of other data ranks, which do not count here.
void SglangScheduler::note_plan(const PlanContext& context) {
  requests_ = &context.requests;
  if (stood_by_) ratio_.skip_steps(context.decodes_planned - planned_before_);
  planned_before_ = context.decodes_planned;
  stood_by_ = false;
  for (const Request& request : left_) {
    const std::int32_t in_flight = context.decodes_in_flight > 0 ? 1 : 0;
    const TokenCount generated = context.generated(request) - in_flight;
    finished_output_ += output_to_come(request, generated, context.kv.pool());
  }
  left_.clear();
}

// Those of the prefill batch before that have finished are dropped before it joins the others, and
// so is one whose prompt is computed in part.
void SglangScheduler::filter_last_batch() {
  if (last_shrank_ || (last_was_prefill_ && chunked_ != kNoRequest)) batch_is_full_ = false;
  before_completed_.swap(last_completed_);
  last_completed_.clear();
  last_was_prefill_ = last_was_mixed_ = last_shrank_ = false;
}

// Before the running requests decode.
void SglangScheduler::filter_running() {
  if (finished_ > 0 || running_.empty()) batch_is_full_ = false;
  forget_finished();
}

// Those whose last token is in flight, which a batch of decodes does without. Whether there were
// any.
bool SglangScheduler::drop_ending(const PlanContext& context) {
  if (!own_.rules.skips_last_step || running_.size() == context.decodes.size()) return false;
  bool any = false;
  for (RequestId id = running_.front(); id != kNoRequest;) {
    const RequestId next = running_.after(id);
    if (context.requests[id].state == RequestState::ending) {
      running_.remove(id);
      any = true;
    }
    id = next;
  }
  if (any) batch_is_full_ = false;
  return any;
}

void SglangScheduler::forget_finished() {
  finished_ = 0;
  finished_output_ = 0;
}

// A mixed batch has the prompts that it completes in front of those that decode: all behind `last`.
void SglangScheduler::put_first(RequestId last) {
  while (running_.back() != last) {
    const RequestId id = running_.back();
    running_.remove(id);
    running_.push_front(id);
  }
}

bool SglangScheduler::may_prefill() const {
  if (chunked_ != kNoRequest) return true;
  return !waiting_.empty() && !batch_is_full_ && seats_taken() < options_.max_num_seqs;
}

void SglangScheduler::note_computed(RequestId id, TokenCount tokens, bool completes) {
  late_prefixes_.add(id, tokens, completes ? options_.pipeline_depth : 1);
  if (!completes) return;
  last_completed_.push_back(id);
  if (drafts_.any()) drafts_.begin(id, tokens);
}

void SglangScheduler::decode(const PlanContext& context, BatchPlan& plan) {
  if (context.part == PlanPart::prompts) return;  // asked for later, if at all
  const bool is_dropping = finished_ > 0;
  filter_running();
  const bool drops_ending = drop_ending(context);
  if (blocks_for_decodes(context) > context.kv.pool().free_blocks) {
    if (!drops_ending || context.decodes_go_on) return retract(context, plan);
    plan.decodes_pause = true;  // until they have given back what they hold
    return note_idle(context);
  }
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

// Mixed batches: one token for each that decodes or is still in the batch, of which their blocks
// have taken `taken` already. Those that have finished count until a batch takes them in.
SglangScheduler::Budget SglangScheduler::mixed_budget(TokenCount taken) const {
  if (!own_.enable_mixed_chunk) return budget_for(0);
  Budget budget = budget_for(seats_taken());
  budget.set_aside = static_cast<double>(seats_taken() - taken);
  return budget;
}

// Nothing is planned. With a step in flight the engine has its result to look at first.
void SglangScheduler::note_idle(const PlanContext& context) {
  stood_by_ = true;
  idle_ = running_.empty() && chunked_ == kNoRequest && context.decodes_in_flight == 0 &&
          (waiting_.empty() || !own_.rules.idle_without_queue);
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
  // An eviction frees more than the step takes, so it is left to a plan of its own.
  const KvPoolState& pool = context.kv.pool();
  BlockCount plain = pool.free_blocks - pool.cached_blocks;
  if (pool.cached_blocks > 0 && pool.block_tokens > 1) plain -= running_.size();
  plan.steady_steps =
      std::min(context.steady_decodes(std::max<BlockCount>(0, plain)), steps_to_read(context));
}

// Those that may be retracted, the first victim first.
void SglangScheduler::find_candidates(const PlanContext& context) {
  candidates_.clear();
  for (RequestId id = running_.front(); id != kNoRequest; id = running_.after(id)) {
    const Request& request = context.requests[id];
    candidates_.push_back(
        {id, read_output(context, id), request.prompt_tokens, candidates_.size()});
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
  // The others stay in the order of the sort. With drafts the order is that of their rounds.
  for (std::size_t i = drafts_.any() ? gone : candidates_.size(); i-- > gone;) {
    running_.remove(candidates_[i].id);
    running_.push_back(candidates_[i].id);
  }

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
  if (!running_.contains(id)) return true;  // it has left the batch before its last token was out
  running_.remove(id);
  const bool was_in_last =
      last_was_prefill_ && (last_was_mixed_ || std::ranges::count(last_completed_, id) > 0);
  if (was_in_last) {
    last_shrank_ = true;
  } else {
    ++finished_;
    left_.push_back((*requests_)[id]);
  }
  return true;
}

void SglangScheduler::on_engine_lost() {
  running_.clear();
  late_prefixes_.clear();
  forget_finished();
  left_.clear();
  filter_last_batch();
  chunked_ = kNoRequest;
  batch_is_full_ = stood_by_ = false;
  idle_ = true;
}

}  // namespace headroom
