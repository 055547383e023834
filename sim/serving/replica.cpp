#include "sim/serving/replica.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"

namespace headroom {

Replica::Replica(std::uint16_t number, ReplicaParts parts, MetricsSink& sink)
    : time_(parts.options.pipeline_depth, parts.options.api_server.processes > 0),
      number_(number),
      speculates_(parts.options.acceptance.drafts() > 0),
      parts_(std::move(parts)),
      rules_(parts_.limits, parts_.options.reservation),
      pricing_(std::move(parts_.cost), std::move(parts_.slow_costs),
               parts_.options.cold_step_ticks),
      sums_(*parts_.kv, decode_block_tokens()),
      sink_(sink),
      transfers_(std::move(parts_.tier), parts_.options.move_ticks_per_token),
      remote_(parts_.options),
      tally_(sink, parts_.options.responds_at_end) {
  const std::int32_t depth = time_.depth();
  HEADROOM_CHECK(depth == 1 || depth == 2, fmt::format("pipeline depth {}", depth));
  HEADROOM_CHECK(depth == 1 || !speculates(), "speculative decoding with steps queued");
  if (parts_.options.api_server.processes > 0) {
    HEADROOM_CHECK(!parts_.options.responds_at_end, "an API server of an engine without streams");
    api_.emplace(parts_.options.api_server);
  }
  if (remote_.has_role()) {
    HEADROOM_CHECK(!api_ && !speculates() && !parts_.adapters, "a role of an engine of its own");
  }
  stops_for_first_tokens_ = api_ || remote_.has_role();
  gaps_are_steps_ = !api_ && !speculates() && !parts_.options.responds_at_end;
  run_.replica = number_;
  run_.state = &reported_;
  run_.decodes = &sums_.decodes();
  sink_.on_idle(number_, 0, state());
}

// --- arrivals -----------------------------------------------------------------------------------

RequestId Replica::submit(const Arrival& arrival, std::uint64_t index, TimeNs now_ns,
                          TimeNs queued_ns, const KvOffer* prefilled) {
  const RequestId id = requests_.add();
  Request& request = requests_[id];
  rules_.fill(request, arrival, index);
  if (rarely(arrival.first_token_deadline_ns != kNever)) stops_for_first_tokens_ = true;
  HEADROOM_CHECK(request.adapter == 0 || parts_.adapters, "a request with an adapter without LoRA");
  if (rarely(outage_.lasts_at(now_ns)) && !parts_.options.queue_survives) {
    turn_away(request, {.outcome = outage_.outcome(), .queued_ns = queued_ns},
              ApiServer::patience_of(arrival), now_ns);
    requests_.remove(id);
    return kNoRequest;
  }
  const bool servable = rules_.can_ever_serve(request);
  if (!servable || rules_.is_full(sums_.residents() + sums_.waiting())) [[unlikely]] {
    const EngineEventKind why = servable ? EngineEventKind::overloaded : EngineEventKind::rejected;
    turn_away(request, {.event = why, .queued_ns = queued_ns}, ApiServer::patience_of(arrival),
              now_ns);
    requests_.remove(id);
    return kNoRequest;
  }

  if (id >= stories_.size()) [[unlikely]] {
    stories_.resize(id + 1);
    time_.stops().track(id);
  }
  RequestStory& story = stories_[id];
  story = {};
  story.output_tokens = output_of(request, arrival);
  story.queued_ns = queued_ns < 0 ? now_ns : queued_ns;
  story.here = true;
  if (remote_.has_role()) [[unlikely]] {
    remote_.begin(id, request, story, prefilled);
  }
  enter_queue(id);
  if (mostly(prefilled == nullptr)) parts_.scheduler->enqueue(id, request);
  sink_.on_event(
      {.kind = mostly(queued_ns < 0) ? EngineEventKind::queued : EngineEventKind::requeued,
       .time_ns = now_ns,
       .replica = number_,
       .request = index,
       .tokens = request.prompt_tokens});
  if (api_) [[unlikely]] {
    api_->queued(id, arrival);
  }

  // The scheduler's word is about its own queue.
  if (time_.idle() || arrivals_can_join_ || prefilled != nullptr) wake(now_ns);
  return id;
}

// There is something new to plan with.
void Replica::wake(TimeNs now_ns) {
  if (time_.next_plan_ns() <= now_ns || outage_.lasts_at(now_ns)) return;
  if (time_.idle()) {
    time_.plan_at(now_ns);
  } else {
    cut_at(now_ns);
  }
}

// Until the next plan there is nothing left to cut.
void Replica::cut_at(TimeNs now_ns) {
  arrivals_can_join_ = false;
  time_.cut_at(now_ns);
}

// --- time passes --------------------------------------------------------------------------------

// Up to step `target`.
void Replica::apply_repetitions(StepIndex target) {
  const StepCount steps = target - time_.applied();
  const DecodeSet& decodes = sums_.decodes();
  const BlockCount blocks = steps == 1 ? decodes.blocks_needed() : decodes.blocks_needed(steps);
  if (blocks > 0) parts_.kv->take(blocks);
  sums_.advance(steps);
  time_.apply(steps);
}

void Replica::run_to(StepIndex step) {
  while (time_.completed() < step) {
    sync(time_.completed());
    Segment& segment = time_.segments().front();
    StepCount steps = std::min(segment.left(), step - time_.completed());
    // Its first step has other gaps.
    if (rarely(gaps_.paused()) && segment.decodes) steps = 1;
    // One report tells of cached blocks as far as it is known in which order they are taken.
    if (pool().mixed_blocks > 0) [[unlikely]] {
      steps = 1 + sums_.decodes().steps_within(pool().ordered_blocks(), steps - 1);
    }
    report_run(segment, steps);
    if (segment.left() > 0) continue;
    if (!segment.first_tokens.empty()) {
      yield_first_tokens(segment);
      segment.first_tokens.clear();
    }
    time_.segments().pop();
  }
  sync(time_.completed() - 1);
}

void Replica::report_run(Segment& segment, StepCount steps) {
  const TickSum duration = segment.duration(steps);
  const TickSum before = mostly(segment.decodes) ? TickSum{0} : latest_tokens();
  run_.gaps_per_step = segment.gaps_per_step;
  run_.first_ticks = segment.next_ticks();
  if (rarely(!gaps_are_steps_) || rarely(gaps_.paused())) {
    shape_gaps(segment, steps, time_.clock() + duration);
  } else if (!segment.first_tokens.empty()) {
    note_first_gaps(segment, time_.clock() + duration);
  }
  run_.other_gaps = gaps_.groups();
  const auto alone = static_cast<std::int64_t>(segment.first_tokens.size()) + drafted_.extra_tokens;
  run_.begin = time_.clock();
  run_.first_step = time_.completed() + 1;
  run_.steps = steps;
  run_.slope_ticks = segment.price.slope;
  run_.price = &segment.price;
  run_.price_offset = segment.done;
  run_.shape = &segment.shape;
  read_state(reported_);
  sink_.on_steps(run_);
  if (!run_.other_gaps.empty()) [[unlikely]] {
    gaps_.clear();
  }
  tally_.yield(segment.gaps_per_step * steps + alone);
  ghost_rows_ += (segment.shape.decode_rows - segment.gaps_per_step - segment.rows_resumed) * steps;
  if (!segment.decodes) [[unlikely]] {
    note_pause(segment, before, api_ ? api_->written() : time_.clock() + duration);
  } else {
    if (rarely(gaps_.paused())) gaps_.end_pause();
  }
  time_.end_steps(segment, steps, duration);
  if (speculates()) [[unlikely]] {
    yield_accepted();
  }
}

void Replica::yield_first_tokens(const Segment& segment) {
  for (const RequestId id : segment.first_tokens) {
    RequestStory& story = stories_[id];
    if (story.first_token_ns < 0) {
      story.first_token_ns =
          rarely(api_.has_value()) ? api_->received_ns() : floor_ns(time_.clock());
      tally_.on_first_token(story.first_token_ns - requests_[id].arrival_ns);
    }
    story.last_token = -1;
  }
}

// The tokens that were in flight when a request was preempted have come out by now.
void Replica::note_interruptions() {
  for (const RequestId id : interrupted_) {
    HEADROOM_CHECK(stories_[id].counted_to == time_.completed(),
                   "a token in flight outlived the next step end");
    stories_[id].last_token = latest_tokens();
  }
  interrupted_.clear();
}

void Replica::on_step_end(TimeNs now_ns) {
  run_to(time_.next_stop_step());
  HEADROOM_CHECK(floor_ns(time_.clock()) == now_ns,
                 fmt::format("step end at {}", floor_ns(time_.clock())));
  if (!interrupted_.empty()) [[unlikely]] {
    note_interruptions();
  }
  process_stops();
  if (!cancelled_.empty()) [[unlikely]] {
    withdraw_cancelled(now_ns);
  }
  if (time_.completed() >= time_.plan_due()) {
    time_.plan_instead_of_stop(now_ns);
  } else {
    time_.schedule_next_stop(stops_for_first_tokens_);
  }
  if (shown_.is_stale()) show_load();
}

void Replica::finish(RequestId id) {
  Request& request = requests_[id];
  shown_.become_stale();
  const bool leaves = parts_.scheduler->on_leave(id);
  if (mostly(request.state == RequestState::decoding)) {
    // Steps planned while its last token was in flight still carry its row, which yields nothing.
    StepPipeline& segments = time_.segments();
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (segments[i].decodes) --segments[i].gaps_per_step;
    }
    leave_pause(id);
  }
  if (!leaves) [[unlikely]] {
    return become_ghost(id);
  }
  if (remote_.hands_on(id) && !stories_[id].cancelled) {
    return hand_on(id);
  }

  leave_adapter(request);
  if (request.state == RequestState::waiting) [[unlikely]] {
    leave_queue(id);
    parts_.kv->release(id, request, 0, KvRelease::finished);
  } else {
    const TokenCount held = computed_by(request, time_.applied_decodes());
    leave_batch(id, held, unnamed_tokens(id, held));
  }
  record(id, Outcome::finished, floor_ns(time_.clock()));
  remove(id);
}

// One that holds `held` tokens gives them up, `unnamed` of which nobody knows.
void Replica::leave_batch(RequestId id, TokenCount held, TokenCount unnamed) {
  const Request& request = requests_[id];
  if (request.state == RequestState::decoding) {
    sums_.end_decoding(request, held);
  } else {
    sums_.let_go(held);
  }
  parts_.kv->release(id, request, held, KvRelease::finished, unnamed);
  sums_.leave_batch(final_tokens_of(id));
}

// Of the tokens that a running request holds, those of ghost rows and of decode steps in flight:
// the last token that is out is not fed back by a step that has ended.
TokenCount Replica::unnamed_tokens(RequestId id, TokenCount held) const {
  const Request& request = requests_[id];
  if (request.state == RequestState::prefilling) return 0;
  return held - (TokenCount{request.pad_tokens} + request.prompt_tokens + generated_so_far(id) - 1);
}

TokenCount Replica::final_tokens_of(RequestId id) const {
  const Request& request = requests_[id];
  return TokenCount{request.pad_tokens} + request.prompt_tokens + stories_[id].output_tokens - 1;
}

void Replica::record(RequestId id, Outcome outcome, TimeNs finish_ns) {
  const Request& request = requests_[id];
  const RequestStory& story = stories_[id];
  const std::int32_t generated = generated_so_far(id);
  tally_.settle(generated - remote_.carried(id));
  HEADROOM_CHECK(
      outcome != Outcome::finished ||
          (generated == story.output_tokens && request.arrival_ns <= story.first_scheduled_ns &&
           story.first_scheduled_ns <= story.first_token_ns &&
           (api_ || story.first_token_ns <= finish_ns)),
      fmt::format("request {} finished at {} with {} of {} tokens", request.index, finish_ns,
                  generated, story.output_tokens));
  // Whatever came of it, nobody was there to read it.
  const Outcome seen =
      outcome == Outcome::finished && story.cancelled ? Outcome::cancelled : outcome;
  const RequestRecord record{
      .arrival_ns = request.arrival_ns,
      .queued_ns = story.queued_ns,
      .first_scheduled_ns = story.first_scheduled_ns,
      .first_token_ns = story.first_token_ns,
      .finish_ns = finish_ns,
      .index = request.index,
      .prompt_tokens = request.prompt_tokens,
      .output_tokens = generated,
      .max_tokens = remote_.max_tokens(id, request),
      .preemptions = static_cast<std::uint16_t>(std::min(request.preemptions, 65535)),
      .replica = number_,
      .class_id = static_cast<std::uint8_t>(request.class_id),
      .outcome = seen};
  if (api_) [[unlikely]] {
    return leave(record, api_->patience_of(id));
  }
  tally_.depart(record);
}

void Replica::remove(RequestId id) {
  time_.stops().begin_epoch(id);
  stories_[id].here = false;
  requests_.remove(id);
}

void Replica::stop(TimeNs now_ns) {
  // What has ended, short of the next step at which somebody finishes.
  if (!time_.idle() && time_.next_stop_ns() != kNever) {
    run_to(std::min(time_.ended_by(now_ns), time_.next_stop_step() - 1));
    sync(time_.completed());  // the step in flight was planned, its blocks are taken
  }
  std::vector<RequestId> left;
  for (RequestId id = 0; id < stories_.size(); ++id) {
    if (stories_[id].here && !stories_[id].recorded) left.push_back(id);
  }
  std::sort(left.begin(), left.end(),
            [this](RequestId a, RequestId b) { return requests_[a].index < requests_[b].index; });
  for (const RequestId id : left) {
    if (stories_[id].first_token_ns > now_ns) stories_[id].first_token_ns = -1;
    record(id, Outcome::unfinished, -1);
  }
  if (api_) {
    for (const RequestRecord& record : api_->stop(number_, now_ns)) tally_.depart(record);
  }
  tally_.check_settled();
}

}  // namespace headroom
