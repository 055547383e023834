#include "sim/serving/step_ends.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/rank_pools.hpp"

namespace headroom {

StepEnds::StepEnds(ReplicaCore& core, ReplicaReports& reports, ReplicaExits& exits,
                   DraftedStep& drafted, WindowMoves& windows)
    : core_(core), reports_(reports), exits_(exits), drafted_(drafted), windows_(windows) {
  run_.replica = core.number;
  run_.state = &reported_;
  run_.decodes = &core.sums.decodes();
}

// Up to step `target`.
void StepEnds::apply_repetitions(StepIndex target) {
  const StepCount steps = target - core_.time.applied();
  if (core_.features.any(Features::ranks)) [[unlikely]] {
    core_.kv.ranks()->take_steps(core_.sums.rank_decodes(), steps);
  } else {
    const DecodeSet& decodes = core_.sums.decodes();
    const BlockCount blocks = steps == 1 ? decodes.blocks_needed() : decodes.blocks_needed(steps);
    if (blocks > 0) core_.kv.take(blocks);
  }
  core_.sums.advance(steps);
  core_.time.apply(steps);
}

void StepEnds::run_to(StepIndex step) {
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

void StepEnds::report_run(Segment& segment, StepCount steps) {
  const TickSum duration = segment.duration(steps);
  const TickSum before = mostly(segment.decodes) ? TickSum{0} : reports_.latest_tokens();
  run_.gaps_per_step = segment.gaps_per_step;
  run_.first_ticks = segment.next_ticks();
  if (core_.features.any(kShapesGaps) || rarely(core_.gaps.paused())) {
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
  reports_.steps(run_);
  if (!run_.other_gaps.empty()) [[unlikely]] {
    core_.gaps.clear();
  }
  reports_.tally().yield(segment.gaps_per_step * steps + alone);
  ghost_rows_ += (segment.shape.decode_rows - segment.gaps_per_step - segment.rows_resumed) * steps;
  if (!segment.decodes) [[unlikely]] {
    core_.note_pause(segment, before,
                     reports_.api() ? reports_.api()->written() : core_.time.clock() + duration);
  } else {
    if (rarely(core_.gaps.paused())) core_.gaps.end_pause();
  }
  core_.time.end_steps(segment, steps, duration);
  if (core_.features.any(Features::drafts | Features::micro_batches)) [[unlikely]] {
    if (drafted_.drafts() > 0) drafted_.yield(core_);
    if (core_.features.any(Features::micro_batches)) {
      core_.gaps.note_end(segment.micro_batch, reports_.latest_tokens());
    }
  }
}

// What the gaps of a run are that ends at `end` where they need not be its steps.
[[gnu::noinline]] void StepEnds::shape_gaps(const Segment& segment, StepCount steps, TickSum end) {
  const bool streams = !core_.options.responds_at_end;
  const bool resumes = core_.gaps.paused() && segment.decodes;
  if (streams) core_.gaps.add_resumed(segment.first_tokens, core_.stories, end);
  if (streams && resumes) core_.gaps.add_over_pause(end, segment.gaps_per_step);
  std::int64_t late = 0;
  if (core_.features.any(Features::drafts)) {
    late = drafted_.draw(end, core_);
    run_.verified = drafted_.outcomes();
    run_.extra_tokens = drafted_.extra_tokens();
  }
  run_.gaps_per_step = streams && !resumes ? segment.gaps_per_step - late : 0;
  if (core_.features.any(Features::micro_batches)) {
    core_.gaps.add_of_micro_batch(segment.micro_batch, end, segment.gaps_per_step);
    run_.gaps_per_step = 0;
  }
  ApiServer* api = reports_.api();
  if (api == nullptr) return;
  api->put_out(core_.time.clock(), steps, run_.first_ticks, segment.price.slope,
               segment.gaps_per_step + drafted_.extra_tokens() +
                   static_cast<std::int64_t>(segment.first_tokens.size()));
  core_.gaps.shift(api->written() - end);
  run_.gaps = api->gaps();
}

void StepEnds::yield_first_tokens(const Segment& segment) {
  for (const RequestId id : segment.first_tokens) {
    RequestStory& story = core_.stories[id];
    if (story.first_token_ns < 0) {
      story.first_token_ns = core_.features.any(Features::api_server)
                                 ? reports_.api()->received_ns()
                                 : floor_ns(core_.time.clock());
      reports_.tally().on_first_token(story.first_token_ns - core_.requests[id].arrival_ns);
    }
    story.last_token = -1;
  }
}

bool StepEnds::run_short_of_stop(TimeNs now_ns) {
  if (core_.time.idle() || core_.time.next_stop_ns() == kNever) return false;
  run_to(std::min(core_.time.ended_by(now_ns), core_.time.next_stop_step() - 1));
  return true;
}

void StepEnds::run_before(TimeNs now_ns) {
  if (core_.time.idle() || core_.time.next_stop_ns() == kNever) return;
  if (core_.time.clock() < ticks_from_ns(now_ns)) run_to(core_.time.ended_before(now_ns));
}

void StepEnds::process_due_stops() {
  StopQueue& stops = core_.time.stops();
  while (stops.first_decode() <= core_.time.completed_decodes() &&
         stops.top().step <= core_.time.completed()) {
    Stop stop = stops.top();
    stops.pop();
    HEADROOM_CHECK((stop.step > 0 || stop.decode == core_.time.completed_decodes()) &&
                       core_.time.completed() == core_.time.plan_due(),
                   fmt::format("stop of decode step {} seen at {}", stop.decode,
                               core_.time.completed_decodes()));
    if (stop.action == StopAction::leave_plans) [[unlikely]] {
      if (core_.time.applied_decodes() < core_.stories[stop.id].last_decode) {
        // Its last decode step waits for a step in flight in which decodes pause.
        stop.step = core_.time.completed() + 1;
        stops.push(stop);
      } else {
        core_.leave_plans(stop.id);
      }
    } else if (stop.action == StopAction::windows_change) [[unlikely]] {
      windows_.change(stop.id, core_);
    } else {
      exits_.finish(stop.id);
    }
  }
  stops.begin_at(std::min(core_.time.completed_decodes(), stops.first_decode()));
}

}  // namespace headroom
