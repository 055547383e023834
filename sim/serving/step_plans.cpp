#include "sim/serving/step_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/kv_layout.hpp"
#include "sim/serving/rank_pools.hpp"

namespace headroom {

StepPlans::StepPlans(const Parts& parts, StepPricing pricing, KvTransfers transfers)
    : core_(parts.core),
      scheduler_(parts.scheduler),
      reports_(parts.reports),
      exits_(parts.exits),
      drafted_(parts.drafted),
      windows_(parts.windows),
      memory_(parts.memory),
      pricing_(std::move(pricing)),
      transfers_(std::move(transfers)) {
  if (const RankPools* ranks = core_.kv.ranks()) rank_shapes_.resize(ranks->count());
}

StepPlans::Planned StepPlans::plan(TimeNs now_ns) {
  if (!ask_scheduler(now_ns)) [[unlikely]] {
    shortage_.reset();  // of an earlier death
    return plan_.failure == PlanFailure::out_of_cells ? Planned::batch_dies : Planned::engine_dies;
  }
  const bool pause = plan_.decodes_pause;
  HEADROOM_CHECK(
      mostly(!pause) || ((!plan_.chunks.empty() || core_.time.planned() > core_.time.completed()) &&
                         core_.sums.ghosts() == 0),
      "decodes pause for chunks or a step in flight, and not in a static batch");
  const std::int64_t rows = rarely(pause) ? 0 : core_.sums.decodes().size();
  if (rarely(rows == 0) && plan_.chunks.empty()) {
    if (core_.features.any(Features::told_plans) && !plan_.preempted.empty())
      reports_.plan(plan_, now_ns);
    return Planned::nothing;
  }

  Segment& segment = core_.time.begin_segment(!pause);
  begin_segment(segment, rows);
  if (core_.features.any(Features::adapters | Features::drafts | Features::ranks)) [[unlikely]] {
    shape_rows(segment);
  }
  apply_chunks(now_ns, segment);
  if (core_.features.any(Features::logprobs | Features::told_plans)) [[unlikely]] {
    if (core_.features.any(Features::told_plans)) reports_.plan(plan_, now_ns);
    if (core_.features.any(Features::logprobs) && lacks_logprob_memory(now_ns)) {
      return Planned::engine_dies;
    }
  }
  check_limits(segment.shape, 1);
  price(segment);
  core_.time.push(segment, repetitions(segment.price));
  return Planned::step;
}

// With `rows` that decode, before what the plan adds to them.
void StepPlans::begin_segment(Segment& segment, std::int64_t rows) const {
  const bool pause = plan_.decodes_pause;
  segment.gaps_per_step = rows - core_.sums.ghosts();
  segment.rows_paused = rarely(pause) ? core_.sums.decodes().size() : 0;
  segment.rows_resumed = 0;
  segment.shape = {.decode_rows = rows,
                   .decode_context = rarely(pause) ? 0 : core_.sums.decodes().context_sum(),
                   .sampled_rows = rows};
  core_.sums.advance_ghosts();
}

void StepPlans::price(Segment& segment) {
  if (core_.features.any(Features::ranks)) [[unlikely]] {
    pricing_.price_slowest(rank_shapes_, segment.price);
  } else {
    pricing_.price(segment.shape, segment.price);
  }
  const TickSum loads =
      core_.features.any(Features::adapters) ? core_.adapters->take_load_ticks() : 0;
  if (rarely(loads > 0) || rarely(transfers_.any(core_.kv))) {
    StepPricing::add_copies(segment.price,
                            transfers_.take_delay(core_.kv, core_.time.end_of_plans()) + loads);
  }
  pricing_.add_cold_start(segment.price);
  if (core_.features.any(Features::micro_batches)) [[unlikely]] {
    pricing_.enter_stages(segment.shape, core_.time.clock(), core_.time.end_of_plans(),
                          segment.price);
  }
  HEADROOM_CHECK(segment.price.base > 0, "a step takes time");
}

// What changes hands in the pool before the scheduler looks at it.
void StepPlans::move_kv() {
  if (core_.kv.pool().step_blocks > 0) core_.kv.windows()->begin_plan();
  windows_.apply(core_);
  if (core_.remote.take_in(core_.requests, core_.sums, core_.kv)) reports_.become_stale();
}

// The scheduler's next plan, with what becomes of those that it takes out of the batch or refuses.
// False: it fails.
bool StepPlans::ask_scheduler(TimeNs now_ns) {
  plan_.clear();
  const bool has_stages = core_.features.any(Features::micro_batches);
  if (has_stages) [[unlikely]] {
    core_.choose(core_.time.next_micro_batch());
  }
  if (core_.features.any(Features::windows | Features::role)) [[unlikely]] {
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
  scheduler_.plan(context, plan_);
  if (plan_.failure != PlanFailure::none) [[unlikely]] {
    return false;
  }
  if (!plan_.preempted.empty()) [[unlikely]] {
    apply_preemptions(now_ns);
  }
  if (!plan_.rejected.empty()) [[unlikely]] {
    apply_rejections(now_ns);
  }
  arrivals_can_join_ = plan_.arrivals_can_join;
  if (plan_.refused_by_placement != core_.refused_by_placement) [[unlikely]] {
    core_.refused_by_placement = plan_.refused_by_placement;
    if (core_.refused_by_placement != kNoRequest) {
      reports_.event(EngineEventKind::placement_refused, now_ns, core_.refused_by_placement,
                     plan_.wanted_tokens, OomKind::fragmentation);
    }
  }
  return true;
}

// Rows of the step that is being planned, before anybody in it ends.
void StepPlans::shape_rows(Segment& segment) {
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
    drafted_.plan(plan_.verified, reports_.latest_tokens(), segment, core_);
  }
  if (!rank_shapes_.empty()) shape_ranks(segment.decodes);
}

// The same by data rank. Rows with drafts do not sit steps out there.
void StepPlans::shape_ranks(bool decodes) {
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
void StepPlans::check_limits(const StepShape& shape, std::int64_t ranks) const {
  HEADROOM_CHECK(
      (shape.decode_rows + shape.chunk_rows) * ranks <= core_.options.max_sequences &&
          (shape.decode_tokens() + shape.chunk_tokens) * ranks <= core_.options.max_step_tokens,
      fmt::format("plan of {} decodes, {} drafts, {} chunks of {} tokens", shape.decode_rows,
                  shape.draft_tokens, shape.chunk_rows, shape.chunk_tokens));
}

// How often the plan may be repeated before anything can change: the scheduler's word, the validity
// of the price, and the next step end at which a request finishes or leaves the plans.
StepCount StepPlans::repetitions(const StepPrice& price) const {
  if (!plan_.chunks.empty() || rarely(!plan_.preempted.empty()) ||
      rarely(core_.options.single_step) ||
      core_.features.any(Features::drafts | Features::micro_batches)) {
    return 1;
  }
  const StepCount steps =
      std::min({plan_.steady_steps, price.valid_steps, core_.time.steps_to_next_stop()});
  HEADROOM_CHECK(steps >= 1 && steps < kManySteps, fmt::format("a plan for {} steps", steps));
  return steps;
}

void StepPlans::apply_preemptions(TimeNs now_ns) {
  for (const RequestId id : plan_.preempted) {
    const TokenCount held = core_.preempt(id, reports_.latest_tokens());
    reports_.become_stale();
    const bool swapped = std::ranges::find(plan_.swapped, id) != plan_.swapped.end();
    reports_.event(EngineEventKind::preempted, now_ns, id, swapped ? 0 : held);
  }
  for (const RequestId id : plan_.swapped) {
    HEADROOM_CHECK(core_.time.depth() == 1, "a token in flight is not swapped out");
    transfers_.swap_out(
        blocks_needed(core_.requests[id].known_tokens - 1, core_.kv.pool().block_tokens));
  }
}

// A decoding row that was swapped out: its KV is copied back before the step.
void StepPlans::resume(const Chunk& chunk, Segment& segment) {
  HEADROOM_CHECK(segment.decodes && chunk.samples && chunk.tokens == 1,
                 "who comes back from the host decodes");
  transfers_.swap_in(blocks_needed(chunk.context_tokens, core_.kv.pool().block_tokens));
  ++segment.rows_resumed;
  ++segment.shape.decode_rows;
  segment.shape.decode_context += chunk.context_tokens + chunk.tokens;
}

void StepPlans::apply_rejections(TimeNs now_ns) {
  for (const RequestId id : plan_.rejected) exits_.reject(id, now_ns);
}

// Returns the tokens of its context that were found here.
TokenCount StepPlans::admit(const Chunk& chunk, TimeNs now_ns) {
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
  reports_.become_stale();
  if (!core_.features.any(Features::role)) return chunk.context_tokens;
  return core_.remote.admit(chunk.id, chunk.context_tokens, core_.sums);
}

void StepPlans::apply_chunks(TimeNs now_ns, Segment& segment) {
  for (const Chunk& chunk : plan_.chunks) {
    Request& request = core_.requests[chunk.id];
    if (chunk.admits) {
      const TokenCount found = admit(chunk, now_ns);
      reports_.event({.kind = EngineEventKind::admitted,
                      .time_ns = now_ns,
                      .replica = core_.number,
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
void StepPlans::start_sampling(RequestId id, StepIndex step, Segment& segment) {
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
      depth > 1 && core_.options.knows_last_steps && story.output_tokens == request.max_tokens;
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
  if (core_.features.any(Features::windows) && drafted_.drafts() == 0) {
    WindowMoves::stop_for(id, request.computed_tokens, request.computed_tokens, core_);
  }
  if (rarely(known_end)) {
    stop.decode += 1 - depth;
    // Not before its first token is out, if decodes pause for that.
    if (!segment.decodes && stop.decode <= core_.time.planned_decodes()) stop.step = step;
    stop.action = StopAction::leave_plans;
  }
  // With drafts the last step is known when it has ended: DraftedStep::yield() tells.
  if (core_.features.any(Features::drafts) && !at_once) return;
  core_.time.stops().push(stop);
}

// The chunks of the plan need more for log-probabilities than is free.
bool StepPlans::lacks_logprob_memory(TimeNs now_ns) {
  TokenCount longest = 0;
  for (const Chunk& chunk : plan_.chunks) {
    // Those of a prompt that is computed again, its answer having begun, are out already.
    const bool wants =
        core_.requests[chunk.id].prompt_logprobs && core_.stories[chunk.id].generated == 0;
    if (wants) longest = std::max<TokenCount>(longest, chunk.tokens);
  }
  if (longest == 0) return false;
  shortage_ = memory_.logprob_shortage(longest, now_ns);
  return shortage_.has_value();
}

}  // namespace headroom
