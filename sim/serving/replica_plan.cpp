// The part of Replica that asks the scheduler for plans and applies them.

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/kv_layout.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

void Replica::on_plan(TimeNs now_ns) {
  if (rarely(outage_.try_end(now_ns))) {
    report_event(EngineEventKind::engine_restarted, now_ns, kNoRequest, 0);
  }
  sync(time_.completed());
  time_.begin_planning(now_ns);
  if (rarely(remote_.has_exits())) {
    apply_exits(now_ns);
  }
  const bool died = now_ns >= parts_.memory.fails_ns();
  if (died) [[unlikely]] {
    die_of_growth(now_ns);
  }
  while (!died && time_.has_room() && plan_once(now_ns)) {
  }
  time_.end_planning();
  // An engine that outgrows its memory is found dead at the first planning instant after that.
  const TimeNs fails_ns = parts_.memory.fails_ns();
  if (rarely(fails_ns < kNever) && !time_.idle()) time_.plan_again_by(fails_ns);
  time_.schedule_next_stop(stops_for_first_tokens_);
  if (shown_.is_stale()) show_load();
  if (!time_.idle()) return;
  sink_.on_idle(number_, time_.clock(), state());
  // Whoever was preempted last of all has left blocks to those that wait with theirs.
  if (remote_.has_role() && !plan_.preempted.empty() && !outage_.lasts_at(now_ns))
    time_.plan_at(now_ns);
  if (time_.next_plan_ns() == kNever) time_.plan_at(plan_.wake_at_ns);
}

// The scheduler's next plan, with what becomes of those that it takes out of the batch or refuses.
// False: the engine died over it.
bool Replica::ask_scheduler(TimeNs now_ns) {
  plan_.clear();
  if (pool().step_blocks > 0) [[unlikely]] {
    parts_.kv->windows()->begin_plan();
  }
  if (!moving_.empty()) [[unlikely]] {
    move_windows();
  }
  if (remote_.has_role() && remote_.take_in(requests_, sums_, *parts_.kv)) [[unlikely]] {
    shown_.become_stale();
  }
  const PlanContext context{
      .now_ns = now_ns,
      .decodes_planned = time_.planned_decodes(),
      .requests = requests_,
      .kv = *parts_.kv,
      .decodes = sums_.decodes_to_plan(),
      .adapters = rarely(parts_.adapters.has_value()) ? &*parts_.adapters : nullptr,
      .decodes_in_flight = time_.planned_decodes() - time_.completed_decodes(),
      .horizon = std::max<StepCount>(1, time_.steps_to_next_stop())};
  parts_.scheduler->plan(context, plan_);
  if (plan_.failure != PlanFailure::none) [[unlikely]] {
    lose_engine(now_ns, OomKind::runtime_device);
    return false;
  }
  if (!plan_.preempted.empty()) [[unlikely]] {
    apply_preemptions(now_ns);
  }
  if (!plan_.rejected.empty()) [[unlikely]] {
    apply_rejections(now_ns);
  }
  arrivals_can_join_ = plan_.arrivals_can_join;
  if (plan_.refused_by_placement != last_refused_) [[unlikely]] {
    last_refused_ = plan_.refused_by_placement;
    if (last_refused_ != kNoRequest) {
      report_event(EngineEventKind::placement_refused, now_ns, last_refused_, plan_.wanted_tokens,
                   OomKind::fragmentation);
    }
  }
  return true;
}

// One plan. False when it is empty (nothing to run) or the engine died over it.
bool Replica::plan_once(TimeNs now_ns) {
  if (!ask_scheduler(now_ns)) return false;
  const bool pause = plan_.decodes_pause;
  HEADROOM_CHECK(mostly(!pause) || (!plan_.chunks.empty() && sums_.ghosts() == 0),
                 "decodes pause for chunks, and not in a static batch");
  const std::int64_t rows = rarely(pause) ? 0 : sums_.decodes().size();
  if (rarely(rows == 0) && plan_.chunks.empty()) return false;

  Segment& segment = time_.begin_segment(!pause);
  segment.gaps_per_step = rows - sums_.ghosts();
  segment.rows_paused = rarely(pause) ? sums_.decodes().size() : 0;
  segment.rows_resumed = 0;
  segment.shape = {.decode_rows = rows,
                   .decode_context = rarely(pause) ? 0 : sums_.decodes().context_sum(),
                   .sampled_rows = rows};
  sums_.advance_ghosts();
  if (parts_.adapters) [[unlikely]] {
    count_adapters(segment.shape);
  }
  if (speculates()) [[unlikely]] {
    apply_verified(segment);
  }
  apply_chunks(now_ns, segment);
  if (parts_.memory.counts_logprobs() && dies_of_logprobs(now_ns)) [[unlikely]] {
    return false;
  }
  const StepShape& shape = segment.shape;
  HEADROOM_CHECK(shape.decode_rows + shape.chunk_rows <= parts_.options.max_sequences &&
                     shape.decode_tokens() + shape.chunk_tokens <= parts_.options.max_step_tokens,
                 fmt::format("plan of {} decodes, {} drafts, {} chunks of {} tokens", rows,
                             shape.draft_tokens, shape.chunk_rows, shape.chunk_tokens));
  pricing_.price(shape, segment.price);
  const TickSum loads =
      rarely(parts_.adapters.has_value()) ? parts_.adapters->take_load_ticks() : 0;
  if (rarely(loads > 0) || rarely(transfers_.any(*parts_.kv))) {
    StepPricing::add_copies(segment.price,
                            transfers_.take_delay(*parts_.kv, time_.end_of_plans()) + loads);
  }
  pricing_.add_cold_start(segment.price);
  HEADROOM_CHECK(segment.price.base > 0, "a step takes time");
  time_.push(segment, repetitions(segment.price));
  return true;
}

// How often the plan may be repeated before anything can change: the scheduler's word, the validity
// of the price, and the next step end at which a request finishes or leaves the plans.
StepCount Replica::repetitions(const StepPrice& price) {
  if (!plan_.chunks.empty() || rarely(!plan_.preempted.empty()) ||
      rarely(parts_.options.single_step) || rarely(speculates())) {
    return 1;
  }
  const StepCount steps =
      std::min({plan_.steady_steps, price.valid_steps, time_.steps_to_next_stop()});
  HEADROOM_CHECK(steps >= 1 && steps < kManySteps, fmt::format("a plan for {} steps", steps));
  return steps;
}

void Replica::apply_preemptions(TimeNs now_ns) {
  for (const RequestId id : plan_.preempted) {
    Request& request = requests_[id];
    RequestStory& story = stories_[id];
    const TokenCount held = computed_by(request, time_.planned_decodes());
    if (request.state == RequestState::prefilling) {
      sums_.let_go(held);
    } else {
      interrupt(id);
      if (request.state == RequestState::ending) sums_.let_go(held);
    }
    sums_.leave_batch(final_tokens_of(id));
    request.known_tokens = request.prompt_tokens + story.generated;
    request.computed_tokens = 0;
    request.state = RequestState::waiting;
    ++request.preemptions;
    enter_queue(id);
    shown_.become_stale();
    const bool swapped = std::ranges::find(plan_.swapped, id) != plan_.swapped.end();
    report_event(EngineEventKind::preempted, now_ns, id, swapped ? 0 : held);
  }
  for (const RequestId id : plan_.swapped) {
    HEADROOM_CHECK(time_.depth() == 1, "a token in flight is not swapped out");
    transfers_.swap_out(blocks_needed(requests_[id].known_tokens - 1, pool().block_tokens));
  }
}

// A decoding row that was swapped out: its KV is copied back before the step.
void Replica::resume(const Chunk& chunk, Segment& segment) {
  HEADROOM_CHECK(segment.decodes && chunk.samples && chunk.tokens == 1,
                 "who comes back from the host decodes");
  transfers_.swap_in(blocks_needed(chunk.context_tokens, pool().block_tokens));
  ++segment.rows_resumed;
  ++segment.shape.decode_rows;
  segment.shape.decode_context += chunk.context_tokens + chunk.tokens;
}

// A row that has begun to sample leaves the batch. Steps up to `planned_` carry it; what is in
// flight comes out, and may even finish it.
void Replica::interrupt(RequestId id) {
  RequestStory& story = stories_[id];
  const StepIndex last = std::min(time_.planned_decodes(), story.last_decode);
  if (last < story.last_decode) time_.stops().begin_epoch(id);
  story.generated += static_cast<std::int32_t>(last - story.sample_decode + 1);
  const bool in_flight = last > story.sample_decode ? last > time_.completed_decodes()
                                                    : story.sample_step > time_.completed();
  story.counted_to = in_flight ? time_.completed() + 1 : time_.completed();
  if (in_flight) {
    interrupted_.push_back(id);
  } else {
    story.last_token = last_token_of(id);
    leave_pause(id);
  }
}

// Requests that the scheduler finds can never be served.
void Replica::apply_rejections(TimeNs now_ns) {
  for (const RequestId id : plan_.rejected) {
    const Request& request = requests_[id];
    HEADROOM_CHECK(request.state == RequestState::waiting, "only a waiting request is rejected");
    report_event(EngineEventKind::rejected, now_ns, id,
                 TokenCount{request.prompt_tokens} + request.max_tokens,
                 OomKind::rejected_too_long);
    parts_.kv->release(id, request, 0, KvRelease::finished);
    leave_queue(id);
    if (last_refused_ == id) last_refused_ = kNoRequest;
    record(id, Outcome::rejected, now_ns);
    remove(id);
  }
}

void Replica::turn_away(const Request& request, const Refusal& refusal,
                        const ApiServer::Patience& patience, TimeNs now_ns) {
  if (refusal.outcome == Outcome::rejected) {
    sink_.on_event({.kind = refusal.event,
                    .oom = rules_.fits_context(request) ? OomKind::rejected_too_long
                                                        : OomKind::context_length_exceeded,
                    .time_ns = now_ns,
                    .replica = number_,
                    .request = request.index,
                    .tokens = TokenCount{request.prompt_tokens} + request.max_tokens});
  }
  RequestRecord record;
  record.queued_ns = refusal.queued_ns;
  record.arrival_ns = request.arrival_ns;
  record.finish_ns = now_ns;
  record.index = request.index;
  record.prompt_tokens = request.prompt_tokens;
  record.max_tokens = request.max_tokens;
  record.replica = number_;
  record.class_id = static_cast<std::uint8_t>(request.class_id);
  record.outcome = refusal.outcome;
  leave(record, patience);
}

void Replica::apply_chunks(TimeNs now_ns, Segment& segment) {
  for (const Chunk& chunk : plan_.chunks) {
    Request& request = requests_[chunk.id];
    if (chunk.admits) {
      HEADROOM_CHECK(request.state == RequestState::waiting,
                     "admission of a request that does not wait");
      RequestStory& story = stories_[chunk.id];
      if (story.first_scheduled_ns < 0) story.first_scheduled_ns = now_ns;
      request.state = RequestState::prefilling;
      request.computed_tokens = chunk.context_tokens;
      request.admission = ++admissions_;
      request.pad_tokens = chunk.padding;
      sums_.hold(chunk.context_tokens);
      sums_.enter_batch(final_tokens_of(chunk.id));
      leave_queue(chunk.id);
      shown_.become_stale();
      const TokenCount found = remote_.has_role()
                                   ? remote_.admit(chunk.id, chunk.context_tokens, sums_)
                                   : chunk.context_tokens;
      sink_.on_event({.kind = EngineEventKind::admitted,
                      .time_ns = now_ns,
                      .replica = number_,
                      .request = request.index,
                      .tokens = request.known_tokens,
                      .resumed = request.preemptions > 0,
                      .cached_tokens = found});
    }
    const TokenCount whole = TokenCount{request.known_tokens} + request.pad_tokens;
    HEADROOM_CHECK(
        request.state == RequestState::prefilling && chunk.tokens >= 1 &&
            request.computed_tokens == chunk.context_tokens &&
            chunk.samples == (chunk.context_tokens + chunk.tokens == whole) &&
            chunk.context_tokens + chunk.tokens <= whole,
        fmt::format("chunk of {} after {} of {}", chunk.tokens, chunk.context_tokens, whole));
    request.computed_tokens += chunk.tokens;
    request.anchor_decode = time_.planned_decodes() + (segment.decodes ? 1 : 0);
    sums_.grow(chunk.context_tokens, request.computed_tokens);
    if (chunk.resumes) [[unlikely]] {
      resume(chunk, segment);
    } else {
      segment.shape.add_chunk(chunk.context_tokens, chunk.tokens);
    }
    if (chunk.samples) start_sampling(chunk.id, time_.planned() + 1, segment);
  }
}

// The prefill of `id` is complete in `step`: it yields a token there and decodes from then on.
void Replica::start_sampling(RequestId id, StepIndex step, Segment& segment) {
  Request& request = requests_[id];
  RequestStory& story = stories_[id];
  ++segment.shape.sampled_rows;
  segment.first_tokens.push_back(id);
  story.sample_step = step;
  story.sample_decode = request.anchor_decode;
  story.last_decode = request.anchor_decode + story.output_tokens - story.generated - 1;
  const bool at_once = story.last_decode == story.sample_decode;
  const std::int32_t depth = time_.depth();
  const bool known_end =
      depth > 1 && parts_.options.knows_last_steps && story.output_tokens == request.max_tokens;
  Stop stop{.decode = story.last_decode,
            .step = at_once && !segment.decodes ? step : 0,
            .admission = request.admission,
            .id = id,
            .action = StopAction::finish};
  if (known_end && at_once) [[unlikely]] {
    leave_adapter(request);
    request.state = RequestState::ending;
    time_.stops().push(stop);
    return;
  }
  request.state = RequestState::decoding;
  sums_.let_go(request.computed_tokens);
  request.ids_per_block = parts_.kv->sequence().ids_per_block(request.computed_tokens);
  sums_.begin_decoding(request, request.computed_tokens);
  stop_for_windows(id, request.computed_tokens, request.computed_tokens);
  if (rarely(known_end)) {
    stop.decode += 1 - depth;
    // Not before its first token is out, if decodes pause for that.
    if (!segment.decodes && stop.decode <= time_.planned_decodes()) stop.step = step;
    stop.action = StopAction::leave_plans;
  }
  // With drafts the last step is known when it has ended: yield_accepted() tells.
  if (rarely(speculates()) && !at_once) return;
  time_.stops().push(stop);
}

void Replica::report_no_progress(TimeNs now_ns) {
  TokenCount wanted = 0;
  RequestId head = kNoRequest;
  for (RequestId id = 0; id < stories_.size(); ++id) {
    if (!stories_[id].here || requests_[id].state != RequestState::waiting) continue;
    if (head != kNoRequest && requests_[head].index < requests_[id].index) continue;
    head = id;
    wanted = requests_[id].known_tokens;
  }
  report_event(EngineEventKind::oom, now_ns, head, wanted, OomKind::thrash);
}

void Replica::report_event(EngineEventKind kind, TimeNs now_ns, RequestId id, TokenCount tokens,
                           OomKind oom, const MemoryShortage* shortage) {
  EngineEvent event;
  event.shortage = shortage;
  event.kind = kind;
  event.oom = oom;
  event.time_ns = now_ns;
  event.replica = number_;
  event.request = id == kNoRequest ? UINT64_MAX : requests_[id].index;
  event.tokens = tokens;
  if (kind == EngineEventKind::oom || kind == EngineEventKind::placement_refused) {
    const ReplicaState snapshot = state();
    event.state = &snapshot;
    sink_.on_event(event);
    return;
  }
  sink_.on_event(event);
}

void Replica::check_all() const {
  if (parts_.adapters) check_adapters();
  ResidentSums expected(*parts_.kv, decode_block_tokens());
  BlockCount blocks = 0;
  TokenCount tokens = 0;
  for (RequestId id = 0; id < stories_.size(); ++id) {
    if (!stories_[id].here) continue;
    const Request& request = requests_[id];
    if (request.state == RequestState::waiting) {
      expected.enter_queue(remote_.queued_tokens(id, request));
      if (!remote_.holds_early(id)) continue;
    } else if (remote_.stage(id) != RemoteRequests::Stage::held) {
      expected.enter_batch(final_tokens_of(id));
    }
    const TokenCount held = remote_.holds_early(id) ? remote_.reserved(id)
                                                    : computed_by(request, time_.applied_decodes());
    blocks += parts_.kv->sequence().held(held);
    tokens += held;
    const bool decodes =
        request.state == RequestState::decoding || request.state == RequestState::ghost;
    if (decodes) {
      expected.begin_decoding(request, held);
    } else {
      expected.hold(held);
    }
  }
  sums_.check_same(expected);
  if (pool().grows_with_decode) return check_blocks(blocks + pool().step_blocks);
  const BlockCount set_aside = pool().used_blocks() + pool().shared_blocks;
  HEADROOM_CHECK(tokens <= set_aside * pool().block_tokens,
                 fmt::format("{} tokens held, {} blocks set aside", tokens, set_aside));
}

}  // namespace headroom
