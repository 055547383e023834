#include "sim/serving/step_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {

StepTimeline::StepTimeline(std::int32_t depth, bool is_read_between_stops,
                           std::int32_t micro_batches)
    : depth_(depth),
      ahead_(depth * micro_batches),
      read_between_stops_(is_read_between_stops),
      segments_(ahead_) {
  HEADROOM_CHECK(micro_batches == 1 || depth == 1, "micro-batches with rows in two steps");
  if (micro_batches > 1) others_.resize(static_cast<std::size_t>(micro_batches));
  free_micro_batches();
}

// --- micro-batches ------------------------------------------------------------------------------

void StepTimeline::exchange(MicroBatch& with) {
  std::swap(completed_decodes_, with.completed);
  std::swap(applied_decodes_, with.applied);
  std::swap(planned_decodes_, with.planned);
  std::swap(stops_, with.stops);
}

void StepTimeline::free_micro_batches() {
  free_.resize(others_.size());
  std::iota(free_.rbegin(), free_.rend(), 0);
}

void StepTimeline::change_to(std::int32_t micro_batch) {
  exchange(others_[static_cast<std::size_t>(micro_batch_)]);
  exchange(others_[static_cast<std::size_t>(micro_batch)]);
  micro_batch_ = micro_batch;
}

StepIndex StepTimeline::next_yield(std::int32_t micro_batch) const {
  if (mostly(others_.empty())) return completed_ + 1;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (segments_[i].micro_batch == micro_batch) return segments_[i].first;
  }
  HEADROOM_CHECK(false, "a token in flight of a micro-batch that is not");
  return 0;
}

void StepTimeline::begin_epoch_in_others(RequestId id) {
  for (std::size_t i = 0; i < others_.size(); ++i) {
    if (static_cast<std::int32_t>(i) != micro_batch_) others_[i].stops.begin_epoch(id);
  }
}

// --- plans are cut short ------------------------------------------------------------------------

void StepTimeline::forget_all() {
  segments_.clear();
  stops_.clear();
  planned_ = applied_ = completed_;
  planned_decodes_ = applied_decodes_ = completed_decodes_;
  for (MicroBatch& other : others_) {
    other.stops.clear();
    other.planned = other.applied = other.completed;
  }
  free_micro_batches();
}

void StepTimeline::cut_at(TimeNs now_ns) {
  if (rarely(!others_.empty())) return;  // a plan is due at every step end
  const TickSum target = ticks_from_ns(now_ns);
  // A step may have ended in this very nanosecond, its repetition not being planned yet.
  if (rarely(clock_ >= target) && applied_ < completed_ + depth_) {
    if (plan_again_after(completed_)) plan_instead_of_stop(now_ns);
    return;
  }
  const StepEnd end = first_end_from(target);
  if (!plan_again_after(end.step) || end.step >= next_stop_step_) return;
  next_stop_step_ = end.step;
  next_stop_ns_ = floor_ns(end.instant);
}

// The first step whose end lies at `target` or later, or one that is due for a plan anyway.
StepTimeline::StepEnd StepTimeline::first_end_from(TickSum target) const {
  StepEnd end{completed_, clock_};
  for (std::size_t i = 0; i < segments_.size() && end.step < plan_due_; ++i) {
    const Segment& segment = segments_[i];
    const StepCount left = segment.left();
    const StepCount steps =
        left == 1 ? 1 : std::min(segment.steps_to_reach(target - end.instant), left);
    end.step += steps;
    end.instant += segment.duration(steps);
    if (steps < left || end.instant >= target) break;
  }
  return end;
}

// False when that is so already.
bool StepTimeline::plan_again_after(StepIndex step) {
  if (step >= plan_due_) return false;
  plan_due_ = step;
  const StepIndex keep = step + depth_ - 1;
  Segment& last = segments_.back();
  HEADROOM_CHECK(last.decodes || keep == planned_, "a cut among steps that pause");
  if (last.decodes) planned_decodes_ -= planned_ - keep;
  last.steps -= planned_ - keep;
  planned_ = keep;
  HEADROOM_CHECK(last.left() >= (read_between_stops_ ? 0 : 1) && planned_ >= applied_,
                 "a cut below what time has reached");
  if (last.left() == 0) segments_.pop();  // it ended now, and nothing else happened
  return true;
}

// A plan is due only behind the next step end.
void StepTimeline::schedule_later_stop(bool for_first_tokens) {
  StepIndex due = plan_due_;
  if (mostly(!stops_.empty())) due = std::min(due, step_of(stops_.top()));
  if (rarely(for_first_tokens)) due = std::min(due, next_first_token());
  HEADROOM_CHECK(due > completed_ && due <= planned_, fmt::format("next stop at step {}", due));
  next_stop_step_ = due;
  next_stop_ns_ = floor_ns(end_of_step(due));
}

// Of one that is planned.
TickSum StepTimeline::end_of_step(StepIndex step) const {
  TickSum instant = clock_;
  StepCount steps = step - completed_;
  for (std::size_t i = 0;; ++i) {
    const Segment& segment = segments_[i];
    const StepCount left = segment.left();
    instant += segment.duration(std::min(steps, left));
    if (mostly(steps <= left)) return instant;
    steps -= left;
  }
}

TickSum StepTimeline::end_of_plans() const {
  TickSum instant = clock_;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    instant += segments_[i].duration(segments_[i].left());
  }
  return instant;
}

StepIndex StepTimeline::ended_by(TimeNs now_ns) const {
  const TickSum target = ticks_from_ns(now_ns + 1);
  StepIndex step = completed_;
  TickSum instant = clock_;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const StepCount steps = segments_[i].steps_to_reach(target - instant) - 1;
    step += steps;
    if (steps < segments_[i].left()) break;
    instant += segments_[i].duration(steps);
  }
  return step;
}

// The step at whose end `stop` is due; one that is not planned yet says that it is not among these.
StepIndex StepTimeline::step_of(const Stop& stop) const {
  if (rarely(stop.decode <= completed_decodes_)) return stop.step;
  const StepCount pauses = planned_ - completed_ - (planned_decodes_ - completed_decodes_);
  if (mostly(pauses == 0)) {
    return std::max(completed_ + stop.decode - completed_decodes_, stop.step);
  }
  StepIndex step = completed_;
  StepIndex decode = completed_decodes_;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const StepCount left = segments_[i].left();
    if (segments_[i].decodes) {
      if (stop.decode - decode <= left) return std::max(step + stop.decode - decode, stop.step);
      decode += left;
    }
    step += left;
  }
  return planned_ + 1;
}

StepIndex StepTimeline::next_first_token() const {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (!segments_[i].first_tokens.empty()) return segments_[i].first;
  }
  return planned_ + 1;
}

}  // namespace headroom
