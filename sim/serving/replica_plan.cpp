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
  sync(core_.time.completed());
  core_.time.begin_planning(now_ns);
  const bool runs = !features_.any(Features::role | Features::growth) || act_before_plans(now_ns);
  while (mostly(runs) && core_.time.has_room() && plan_once(now_ns)) {
  }
  core_.time.end_planning();
  // An engine that outgrows its memory is found dead at the first planning instant after that.
  if (features_.any(Features::growth) && !core_.time.idle()) {
    const TimeNs fails_ns = memory_.fails_ns();
    if (fails_ns < kNever) core_.time.plan_again_by(fails_ns);
  }
  core_.time.schedule_next_stop(stops_for_first_tokens_);
  if (shown_.is_stale()) show_load();
  if (!core_.time.idle()) return;
  sink_.on_idle(number_, core_.time.clock(), state());
  // Whoever was preempted last of all has left blocks to those that wait with theirs.
  if (features_.any(Features::role) && !plan_.preempted.empty() && !outage_.lasts_at(now_ns)) {
    core_.time.plan_at(now_ns);
  }
  if (core_.time.next_plan_ns() == kNever) core_.time.plan_at(plan_.wake_at_ns);
}

// False: the engine died of what has grown since it started.
bool Replica::act_before_plans(TimeNs now_ns) {
  apply_exits(now_ns);
  if (now_ns < memory_.fails_ns()) return true;
  plan_.clear();
  const MemoryShortage shortage = memory_.growth_shortage(now_ns);
  lose_engine(now_ns, shortage.kind, &shortage);
  return false;
}

// What changes hands in the pool before the scheduler looks at it.
void Replica::move_kv() {
  if (core_.kv.pool().step_blocks > 0) core_.kv.windows()->begin_plan();
  windows_.apply(core_);
  if (core_.remote.take_in(core_.requests, core_.sums, core_.kv)) shown_.become_stale();
}

// The scheduler's next plan, with what becomes of those that it takes out of the batch or refuses.
// False: the engine died over it.
bool Replica::ask_scheduler(TimeNs now_ns) {
  plan_.clear();
  const bool has_stages = features_.any(Features::micro_batches);
  if (has_stages) [[unlikely]] {
    core_.choose(core_.time.next_micro_batch());
  }
  if (features_.any(Features::windows | Features::role)) [[unlikely]] {
    move_kv();
  }
  const PlanContext context{
      .now_ns = now_ns,
      .decodes_planned = core_.time.planned_decodes(),
      .requests = core_.requests,
      .kv = core_.kv,
      .decodes = core_.sums.decodes_to_plan(),
      .adapters = rarely(core_.adapters.has_value()) ? &*core_.adapters : nullptr,
      .decodes_in_flight = core_.time.planned_decodes() - core_.time.completed_decodes(),
      .horizon = std::max<StepCount>(1, core_.time.steps_to_next_stop()),
      .rank_decodes = core_.sums.rank_decodes_to_plan(),
      .micro_batch = core_.time.micro_batch(),
      .micro_batches =
          rarely(has_stages) ? core_.other_micro_batches() : std::span<const PlannedMicroBatch>{}};
  scheduler_->plan(context, plan_);
  if (plan_.failure != PlanFailure::none) [[unlikely]] {
    if (plan_.failure == PlanFailure::out_of_cells) {
      fail_running(now_ns);
    } else {
      lose_engine(now_ns, OomKind::runtime_device);
    }
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
  HEADROOM_CHECK(
      mostly(!pause) || ((!plan_.chunks.empty() || core_.time.planned() > core_.time.completed()) &&
                         core_.sums.ghosts() == 0),
      "decodes pause for chunks or a step in flight, and not in a static batch");
  const std::int64_t rows = rarely(pause) ? 0 : core_.sums.decodes().size();
  if (rarely(rows == 0) && plan_.chunks.empty()) {
    if (features_.any(Features::told_plans) && !plan_.preempted.empty()) report_plan(now_ns);
    return false;
  }

  Segment& segment = core_.time.begin_segment(!pause);
  segment.gaps_per_step = rows - core_.sums.ghosts();
  segment.rows_paused = rarely(pause) ? core_.sums.decodes().size() : 0;
  segment.rows_resumed = 0;
  segment.shape = {.decode_rows = rows,
                   .decode_context = rarely(pause) ? 0 : core_.sums.decodes().context_sum(),
                   .sampled_rows = rows};
  core_.sums.advance_ghosts();
  if (features_.any(Features::adapters | Features::drafts | Features::ranks)) [[unlikely]] {
    shape_rows(segment);
  }
  apply_chunks(now_ns, segment);
  if (features_.any(Features::logprobs | Features::told_plans)) [[unlikely]] {
    if (features_.any(Features::told_plans)) report_plan(now_ns);
    if (features_.any(Features::logprobs) && dies_of_logprobs(now_ns)) return false;
  }
  check_limits(segment.shape, 1);
  if (features_.any(Features::ranks)) [[unlikely]] {
    pricing_.price_slowest(rank_shapes_, segment.price);
  } else {
    pricing_.price(segment.shape, segment.price);
  }
  const TickSum loads = features_.any(Features::adapters) ? core_.adapters->take_load_ticks() : 0;
  if (rarely(loads > 0) || rarely(transfers_.any(core_.kv))) {
    StepPricing::add_copies(segment.price,
                            transfers_.take_delay(core_.kv, core_.time.end_of_plans()) + loads);
  }
  pricing_.add_cold_start(segment.price);
  if (features_.any(Features::micro_batches)) [[unlikely]] {
    pricing_.enter_stages(segment.shape, core_.time.clock(), core_.time.end_of_plans(),
                          segment.price);
  }
  HEADROOM_CHECK(segment.price.base > 0, "a step takes time");
  core_.time.push(segment, repetitions(segment.price));
  return true;
}

// Rows of the step that is being planned, before anybody in it ends.
void Replica::shape_rows(Segment& segment) {
  StepShape& shape = segment.shape;
  if (core_.adapters) {
    shape.adapters = static_cast<std::int64_t>(core_.adapters->in_use().size());
    shape.adapter_tokens = shape.decode_rows > 0 ? core_.sums.decodes().adapted() : 0;
    for (const Chunk& chunk : plan_.chunks) {
      if (core_.requests[chunk.id].adapter != 0) shape.adapter_tokens += chunk.tokens;
    }
    core_.adapters->on_step();
  }
  if (drafted_.drafts() > 0 && segment.decodes) {
    drafted_.plan(plan_.verified, latest_tokens(), segment, core_);
  }
  if (!rank_shapes_.empty()) shape_ranks(segment.decodes);
}

// The same by data rank. Rows with drafts do not sit steps out there.
void Replica::shape_ranks(bool decodes) {
  TokenCount all = 0;
  for (std::size_t rank = 0; rank < rank_shapes_.size(); ++rank) {
    StepShape& shape = rank_shapes_[rank];
    shape = {};
    if (!decodes) continue;
    const DecodeSet& rows = core_.sums.rank_decodes()[rank];
    shape.decode_rows = shape.sampled_rows = rows.size();
    shape.decode_context = rows.context_sum();
    all += rows.size();
  }
  for (const VerifiedRow& row : plan_.verified) {
    StepShape& shape = rank_shapes_[core_.requests[row.id].rank];
    shape.draft_tokens += row.tokens - 1;
    shape.decode_context += row.tokens - 1;
    all += row.tokens - 1;
  }
  for (const Chunk& chunk : plan_.chunks) {
    StepShape& shape = rank_shapes_[core_.requests[chunk.id].rank];
    if (plan_.prompts_alone && shape.decode_rows > 0) {
      all -= shape.decode_rows;
      shape = {};
    }
    shape.add_chunk(chunk.context_tokens, chunk.tokens);
    shape.sampled_rows += chunk.samples ? 1 : 0;
    all += chunk.tokens;
  }
  for (StepShape& shape : rank_shapes_) {
    shape.all_rank_tokens = all;
    check_limits(shape, static_cast<std::int64_t>(rank_shapes_.size()));
  }
}

// Of the whole engine, or of one of its ranks.
void Replica::check_limits(const StepShape& shape, std::int64_t ranks) const {
  HEADROOM_CHECK(
      (shape.decode_rows + shape.chunk_rows) * ranks <= options_.max_sequences &&
          (shape.decode_tokens() + shape.chunk_tokens) * ranks <= options_.max_step_tokens,
      fmt::format("plan of {} decodes, {} drafts, {} chunks of {} tokens", shape.decode_rows,
                  shape.draft_tokens, shape.chunk_rows, shape.chunk_tokens));
}

// How often the plan may be repeated before anything can change: the scheduler's word, the validity
// of the price, and the next step end at which a request finishes or leaves the plans.
StepCount Replica::repetitions(const StepPrice& price) {
  if (!plan_.chunks.empty() || rarely(!plan_.preempted.empty()) || rarely(options_.single_step) ||
      features_.any(Features::drafts | Features::micro_batches)) {
    return 1;
  }
  const StepCount steps =
      std::min({plan_.steady_steps, price.valid_steps, core_.time.steps_to_next_stop()});
  HEADROOM_CHECK(steps >= 1 && steps < kManySteps, fmt::format("a plan for {} steps", steps));
  return steps;
}

void Replica::apply_preemptions(TimeNs now_ns) {
  for (const RequestId id : plan_.preempted) {
    const TokenCount held = core_.preempt(id, latest_tokens());
    shown_.become_stale();
    const bool swapped = std::ranges::find(plan_.swapped, id) != plan_.swapped.end();
    report_event(EngineEventKind::preempted, now_ns, id, swapped ? 0 : held);
  }
  for (const RequestId id : plan_.swapped) {
    HEADROOM_CHECK(core_.time.depth() == 1, "a token in flight is not swapped out");
    transfers_.swap_out(
        blocks_needed(core_.requests[id].known_tokens - 1, core_.kv.pool().block_tokens));
  }
}

// A decoding row that was swapped out: its KV is copied back before the step.
void Replica::resume(const Chunk& chunk, Segment& segment) {
  HEADROOM_CHECK(segment.decodes && chunk.samples && chunk.tokens == 1,
                 "who comes back from the host decodes");
  transfers_.swap_in(blocks_needed(chunk.context_tokens, core_.kv.pool().block_tokens));
  ++segment.rows_resumed;
  ++segment.shape.decode_rows;
  segment.shape.decode_context += chunk.context_tokens + chunk.tokens;
}

// Requests that the scheduler finds can never be served.
void Replica::apply_rejections(TimeNs now_ns) {
  for (const RequestId id : plan_.rejected) {
    const Request& request = core_.requests[id];
    HEADROOM_CHECK(request.state == RequestState::waiting, "only a waiting request is rejected");
    report_event(EngineEventKind::rejected, now_ns, id,
                 TokenCount{request.prompt_tokens} + request.max_tokens,
                 OomKind::rejected_too_long);
    core_.kv.release(id, request, 0, KvRelease::finished);
    core_.leave_queue(id);
    if (last_refused_ == id) last_refused_ = kNoRequest;
    record(id, Outcome::rejected, now_ns);
    core_.remove(id);
  }
}

// Returns the tokens of its context that were found here.
TokenCount Replica::admit(const Chunk& chunk, TimeNs now_ns) {
  Request& request = core_.requests[chunk.id];
  RequestStory& story = core_.stories[chunk.id];
  HEADROOM_CHECK(request.state == RequestState::waiting,
                 "admission of a request that does not wait");
  if (story.first_scheduled_ns < 0) story.first_scheduled_ns = now_ns;
  request.state = RequestState::prefilling;
  request.computed_tokens = chunk.context_tokens;
  request.admission = ++admissions_;
  request.pad_tokens = chunk.padding;
  core_.sums.hold(chunk.context_tokens);
  core_.sums.enter_batch(core_.final_tokens(chunk.id));
  core_.leave_queue(chunk.id);
  shown_.become_stale();
  if (!features_.any(Features::role)) return chunk.context_tokens;
  return core_.remote.admit(chunk.id, chunk.context_tokens, core_.sums);
}

void Replica::apply_chunks(TimeNs now_ns, Segment& segment) {
  for (const Chunk& chunk : plan_.chunks) {
    Request& request = core_.requests[chunk.id];
    if (chunk.admits) {
      const TokenCount found = admit(chunk, now_ns);
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
    request.micro_batch = core_.time.micro_batch();
    request.anchor_decode = core_.time.planned_decodes() + (segment.decodes ? 1 : 0);
    core_.sums.grow(chunk.context_tokens, request.computed_tokens);
    if (chunk.resumes) [[unlikely]] {
      resume(chunk, segment);
    } else {
      segment.shape.add_chunk(chunk.context_tokens, chunk.tokens);
    }
    if (chunk.samples) start_sampling(chunk.id, core_.time.planned() + 1, segment);
  }
}

// The prefill of `id` is complete in `step`: it yields a token there and decodes from then on.
void Replica::start_sampling(RequestId id, StepIndex step, Segment& segment) {
  Request& request = core_.requests[id];
  RequestStory& story = core_.stories[id];
  ++segment.shape.sampled_rows;
  segment.first_tokens.push_back(id);
  story.sample_step = step;
  story.sample_decode = request.anchor_decode;
  story.last_decode = request.anchor_decode + story.output_tokens - story.generated - 1;
  const bool at_once = story.last_decode == story.sample_decode;
  const std::int32_t depth = core_.time.depth();
  const bool known_end =
      depth > 1 && options_.knows_last_steps && story.output_tokens == request.max_tokens;
  Stop stop{.decode = story.last_decode,
            .step = at_once && !segment.decodes ? step : 0,
            .admission = request.admission,
            .id = id,
            .action = StopAction::finish};
  if (known_end && at_once) [[unlikely]] {
    core_.leave_adapter(request);
    request.state = RequestState::ending;
    core_.time.stops().push(stop);
    return;
  }
  request.state = RequestState::decoding;
  core_.sums.let_go(request.computed_tokens);
  request.ids_per_block = core_.kv.sequence().ids_per_block(request.computed_tokens);
  core_.sums.begin_decoding(request, request.computed_tokens);
  // Rows with drafts take their blocks, and let go of those behind a window, step by step.
  if (features_.any(Features::windows) && drafted_.drafts() == 0) {
    WindowMoves::stop_for(id, request.computed_tokens, request.computed_tokens, core_);
  }
  if (rarely(known_end)) {
    stop.decode += 1 - depth;
    // Not before its first token is out, if decodes pause for that.
    if (!segment.decodes && stop.decode <= core_.time.planned_decodes()) stop.step = step;
    stop.action = StopAction::leave_plans;
  }
  // With drafts the last step is known when it has ended: DraftedStep::yield() tells.
  if (features_.any(Features::drafts) && !at_once) return;
  core_.time.stops().push(stop);
}

}  // namespace headroom
