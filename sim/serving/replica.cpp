#include "sim/serving/replica.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/rank_pools.hpp"

namespace headroom {

Replica::Replica(std::uint16_t number, ReplicaParts parts, MetricsSink& sink)
    : core_(parts.options, *parts.kv, std::move(parts.adapters)),
      number_(number),
      options_(std::move(parts.options)),
      scheduler_(std::move(parts.scheduler)),
      kv_(std::move(parts.kv)),
      memory_(std::move(parts.memory)),
      rules_(parts.limits, options_.reservation),
      pricing_(std::move(parts.cost), std::move(parts.slow_costs), options_.cold_step_ticks),
      transfers_(std::move(parts.tier), options_.move_ticks_per_token),
      drafted_(options_.acceptance, options_.verified_tokens),
      sink_(sink),
      tally_(sink, options_.responds_at_end) {
  const std::int32_t depth = core_.time.depth();
  HEADROOM_CHECK(depth == 1 || depth == 2, fmt::format("pipeline depth {}", depth));
  HEADROOM_CHECK(depth == 1 || drafted_.drafts() == 0, "speculative decoding with steps queued");
  if (options_.api_server.processes > 0) {
    HEADROOM_CHECK(!options_.responds_at_end, "an API server of an engine without streams");
    api_.emplace(options_.api_server);
  }
  features_.add(Features::api_server, api_.has_value());
  features_.add(Features::role, core_.remote.has_role());
  features_.add(Features::drafts, drafted_.drafts() > 0);
  features_.add(Features::adapters, core_.adapters.has_value());
  features_.add(Features::windows, !core_.kv.sequence().uniform());
  features_.add(Features::whole_answers, options_.responds_at_end);
  features_.add(Features::growth, memory_.grows());
  features_.add(Features::logprobs, memory_.counts_logprobs());
  features_.add(Features::told_plans, sink_.wants_plans());
  if (const RankPools* ranks = core_.kv.ranks()) {
    features_.add(Features::ranks, true);
    rank_shapes_.resize(ranks->count());
    HEADROOM_CHECK(!features_.any(Features::adapters), "adapters on data ranks");
  }
  features_.add(Features::micro_batches, core_.time.has_micro_batches());
  HEADROOM_CHECK(!features_.any(Features::micro_batches) ||
                     !features_.any(Features::drafts | Features::whole_answers),
                 "pipeline stages with drafts or without streams");
  HEADROOM_CHECK(!features_.any(Features::role) ||
                     !features_.any(Features::api_server | Features::drafts | Features::adapters),
                 "a role of an engine of its own");
  stops_for_first_tokens_ = features_.any(Features::api_server | Features::role);
  run_.replica = number_;
  run_.state = &reported_;
  run_.decodes = &core_.sums.decodes();
  sink_.on_idle(number_, 0, state());
}

// --- arrivals -----------------------------------------------------------------------------------

RequestId Replica::submit(const Arrival& arrival, std::uint64_t index, TimeNs now_ns,
                          TimeNs queued_ns, const KvOffer* prefilled) {
  const RequestId id = core_.requests.add();
  Request& request = core_.requests[id];
  rules_.fill(request, arrival, index);
  if (rarely(arrival.first_token_deadline_ns != kNever)) stops_for_first_tokens_ = true;
  HEADROOM_CHECK(request.adapter == 0 || core_.adapters, "a request with an adapter without LoRA");
  if (turns_away(now_ns)) {
    turn_away(request, {.outcome = outage_.outcome(), .queued_ns = queued_ns},
              ApiServer::patience_of(arrival), now_ns);
    core_.requests.remove(id);
    return kNoRequest;
  }
  const bool servable = rules_.can_ever_serve(request);
  if (!servable || rules_.is_full(core_.sums.residents() + core_.sums.waiting())) [[unlikely]] {
    const EngineEventKind why = servable ? EngineEventKind::overloaded : EngineEventKind::rejected;
    turn_away(request, {.event = why, .queued_ns = queued_ns}, ApiServer::patience_of(arrival),
              now_ns);
    core_.requests.remove(id);
    return kNoRequest;
  }

  if (features_.any(Features::ranks)) [[unlikely]] {
    request.rank = scheduler_->choose_rank(now_ns);
  }
  if (id >= core_.stories.size()) [[unlikely]] {
    core_.stories.resize(id + 1);
    core_.time.track(id);
  }
  RequestStory& story = core_.stories[id];
  story = {};
  story.output_tokens = output_of(request, arrival);
  story.queued_ns = queued_ns < 0 ? now_ns : queued_ns;
  story.here = true;
  if (features_.any(Features::api_server | Features::role)) [[unlikely]] {
    if (api_) api_->queued(id, arrival);
    if (core_.remote.has_role()) core_.remote.begin(id, request, story, prefilled);
  }
  core_.enter_queue(id);
  if (mostly(prefilled == nullptr)) scheduler_->enqueue(id, request);
  sink_.on_event(
      {.kind = mostly(queued_ns < 0) ? EngineEventKind::queued : EngineEventKind::requeued,
       .time_ns = now_ns,
       .replica = number_,
       .request = index,
       .tokens = request.prompt_tokens});
  // The scheduler's word is about its own queue.
  if (core_.time.idle() || arrivals_can_join_ || prefilled != nullptr) wake(now_ns);
  return id;
}

// There is something new to plan with.
void Replica::wake(TimeNs now_ns) {
  if (core_.time.next_plan_ns() <= now_ns || outage_.lasts_at(now_ns)) return;
  if (core_.time.idle()) {
    core_.time.plan_at(now_ns);
  } else {
    cut_at(now_ns);
  }
}

// Until the next plan there is nothing left to cut.
void Replica::cut_at(TimeNs now_ns) {
  arrivals_can_join_ = false;
  core_.time.cut_at(now_ns);
}

// --- time passes --------------------------------------------------------------------------------

// Up to step `target`.
void Replica::apply_repetitions(StepIndex target) {
  const StepCount steps = target - core_.time.applied();
  if (features_.any(Features::ranks)) [[unlikely]] {
    core_.kv.ranks()->take_steps(core_.sums.rank_decodes(), steps);
  } else {
    const DecodeSet& decodes = core_.sums.decodes();
    const BlockCount blocks = steps == 1 ? decodes.blocks_needed() : decodes.blocks_needed(steps);
    if (blocks > 0) core_.kv.take(blocks);
  }
  core_.sums.advance(steps);
  core_.time.apply(steps);
}

void Replica::run_to(StepIndex step) {
  while (core_.time.completed() < step) {
    sync(core_.time.completed());
    Segment& segment = core_.time.segments().front();
    StepCount steps = std::min(segment.left(), step - core_.time.completed());
    // Its first step has other gaps.
    if (rarely(core_.gaps.paused()) && segment.decodes) steps = 1;
    // One report tells of cached blocks as far as it is known in which order they are taken.
    if (core_.kv.pool().mixed_blocks > 0) [[unlikely]] {
      steps = 1 + core_.sums.decodes().steps_within(core_.kv.pool().ordered_blocks(), steps - 1);
    }
    report_run(segment, steps);
    if (segment.left() > 0) continue;
    if (!segment.first_tokens.empty()) {
      yield_first_tokens(segment);
      segment.first_tokens.clear();
    }
    core_.time.segments().pop();
  }
  sync(core_.time.completed() - 1);
}

void Replica::report_run(Segment& segment, StepCount steps) {
  const TickSum duration = segment.duration(steps);
  const TickSum before = mostly(segment.decodes) ? TickSum{0} : latest_tokens();
  run_.gaps_per_step = segment.gaps_per_step;
  run_.first_ticks = segment.next_ticks();
  if (features_.any(kShapesGaps) || rarely(core_.gaps.paused())) {
    shape_gaps(segment, steps, core_.time.clock() + duration);
  } else if (!segment.first_tokens.empty()) {
    core_.gaps.add_resumed(segment.first_tokens, core_.stories, core_.time.clock() + duration);
  }
  run_.other_gaps = core_.gaps.groups();
  const auto alone =
      static_cast<std::int64_t>(segment.first_tokens.size()) + drafted_.extra_tokens();
  run_.begin = core_.time.clock();
  run_.first_step = core_.time.completed() + 1;
  run_.steps = steps;
  run_.slope_ticks = segment.price.slope;
  run_.price = &segment.price;
  run_.price_offset = segment.done;
  run_.shape = &segment.shape;
  core_.read_state(reported_);
  sink_.on_steps(run_);
  if (!run_.other_gaps.empty()) [[unlikely]] {
    core_.gaps.clear();
  }
  tally_.yield(segment.gaps_per_step * steps + alone);
  ghost_rows_ += (segment.shape.decode_rows - segment.gaps_per_step - segment.rows_resumed) * steps;
  if (!segment.decodes) [[unlikely]] {
    core_.note_pause(segment, before, api_ ? api_->written() : core_.time.clock() + duration);
  } else {
    if (rarely(core_.gaps.paused())) core_.gaps.end_pause();
  }
  core_.time.end_steps(segment, steps, duration);
  if (features_.any(Features::drafts | Features::micro_batches)) [[unlikely]] {
    if (drafted_.drafts() > 0) drafted_.yield(core_);
    if (features_.any(Features::micro_batches)) {
      core_.gaps.note_end(segment.micro_batch, latest_tokens());
    }
  }
}

// What the gaps of a run are that ends at `end` where they need not be its steps.
[[gnu::noinline]] void Replica::shape_gaps(const Segment& segment, StepCount steps, TickSum end) {
  const bool streams = !options_.responds_at_end;
  const bool resumes = core_.gaps.paused() && segment.decodes;
  if (streams) core_.gaps.add_resumed(segment.first_tokens, core_.stories, end);
  if (streams && resumes) core_.gaps.add_over_pause(end, segment.gaps_per_step);
  std::int64_t late = 0;
  if (features_.any(Features::drafts)) {
    late = drafted_.draw(end, core_);
    run_.verified = drafted_.outcomes();
    run_.extra_tokens = drafted_.extra_tokens();
  }
  run_.gaps_per_step = streams && !resumes ? segment.gaps_per_step - late : 0;
  if (features_.any(Features::micro_batches)) {
    core_.gaps.add_of_micro_batch(segment.micro_batch, end, segment.gaps_per_step);
    run_.gaps_per_step = 0;
  }
  if (!api_) return;
  api_->put_out(core_.time.clock(), steps, run_.first_ticks, segment.price.slope,
                segment.gaps_per_step + drafted_.extra_tokens() +
                    static_cast<std::int64_t>(segment.first_tokens.size()));
  core_.gaps.shift(api_->written() - end);
  run_.gaps = api_->gaps();
}

void Replica::yield_first_tokens(const Segment& segment) {
  for (const RequestId id : segment.first_tokens) {
    RequestStory& story = core_.stories[id];
    if (story.first_token_ns < 0) {
      story.first_token_ns =
          features_.any(Features::api_server) ? api_->received_ns() : floor_ns(core_.time.clock());
      tally_.on_first_token(story.first_token_ns - core_.requests[id].arrival_ns);
    }
    story.last_token = -1;
  }
}

// Ends what has ended by now, short of the next step at which somebody finishes. Whether it did.
bool Replica::run_short_of_stop(TimeNs now_ns) {
  if (core_.time.idle() || core_.time.next_stop_ns() == kNever) return false;
  run_to(std::min(core_.time.ended_by(now_ns), core_.time.next_stop_step() - 1));
  return true;
}

void Replica::on_step_end(TimeNs now_ns) {
  if (features_.any(Features::micro_batches)) [[unlikely]] {
    core_.choose(core_.time.segments().front().micro_batch);
  }
  run_to(core_.time.next_stop_step());
  HEADROOM_CHECK(floor_ns(core_.time.clock()) == now_ns,
                 fmt::format("step end at {}", floor_ns(core_.time.clock())));
  if (core_.gaps.awaits_last_tokens()) [[unlikely]] {
    core_.gaps.note_last_tokens(core_.stories, core_.requests, core_.time.completed(),
                                latest_tokens());
  }
  process_stops();
  if (!cancelled_.empty()) [[unlikely]] {
    withdraw_cancelled(now_ns);
  }
  if (core_.time.completed() >= core_.time.plan_due()) {
    core_.time.plan_instead_of_stop(now_ns);
  } else {
    core_.time.schedule_next_stop(stops_for_first_tokens_);
  }
  if (shown_.is_stale()) show_load();
}

void Replica::finish(RequestId id) {
  Request& request = core_.requests[id];
  shown_.become_stale();
  const bool leaves = scheduler_->on_leave(id);
  if (mostly(request.state == RequestState::decoding)) {
    // Steps planned while its last token was in flight still carry its row, which yields nothing.
    StepPipeline& segments = core_.time.segments();
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const bool is_its = segments[i].micro_batch == request.micro_batch;
      if (segments[i].decodes && is_its) --segments[i].gaps_per_step;
    }
    core_.leave_pause(id);
  }
  if (!leaves) [[unlikely]] {
    return become_ghost(id);
  }
  if (features_.any(Features::role | Features::adapters)) [[unlikely]] {
    if (core_.remote.hands_on(id) && !core_.stories[id].cancelled) return hand_on(id);
    core_.leave_adapter(request);
  }
  if (request.state == RequestState::waiting) [[unlikely]] {
    core_.leave_queue(id);
    core_.kv.release(id, request, 0, KvRelease::finished);
  } else {
    core_.leave_batch(id);
  }
  record(id, Outcome::finished, floor_ns(core_.time.clock()));
  core_.remove(id);
}

}  // namespace headroom
