// The part of Replica that is about the step ends at which it has something to do.

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

// What was to happen to `id` will not.
void Replica::begin_epoch(RequestId id) {
  Progress& progress = progress_[id];
  ++progress.epoch;
  void_stops_ += progress.stops;
  progress.stops = 0;
}

[[gnu::noinline]] void Replica::drop_void_stops_from_top() {
  while (void_stops_ > 0 && stops_.top().epoch != progress_[stops_.top().id].epoch) {
    stops_.pop();
    --void_stops_;
  }
}

void Replica::process_due_stops() {
  while (stops_.first_decode() <= completed_decodes_ && stops_.top().step <= completed_) {
    Stop stop = stops_.top();
    stops_.pop();
    --progress_[stop.id].stops;
    HEADROOM_CHECK(
        (stop.step > 0 || stop.decode == completed_decodes_) && completed_ == plan_due_,
        fmt::format("stop of decode step {} seen at {}", stop.decode, completed_decodes_));
    if (stop.action == StopAction::leave_plans) [[unlikely]] {
      if (applied_decodes_ < progress_[stop.id].last_decode) {
        // Its last decode step waits for a step in flight in which decodes pause.
        stop.step = completed_ + 1;
        push_stop(stop);
      } else {
        leave_plans(stop.id);
      }
    } else if (stop.action == StopAction::windows_change) [[unlikely]] {
      change_windows(stop.id);
    } else {
      finish(stop.id);
    }
    drop_void_stops();
  }
  stops_.begin_at(std::min(completed_decodes_, stops_.first_decode()));
}

// All max_tokens of `id` are planned: its last step is in flight, later plans go without it.
void Replica::leave_plans(RequestId id) {
  Request& request = requests_[id];
  const Progress& progress = progress_[id];
  const TokenCount held = computed_by(request, applied_decodes_);
  HEADROOM_CHECK(progress.last_decode == applied_decodes_,
                 "left out of plans before its last step was planned");
  leave_adapter(request);
  decodes_.leave(parts_.kv->row_of(request, held));
  request.computed_tokens = static_cast<std::int32_t>(held);
  request.state = RequestState::ending;
  prefill_kept_ += kept(held);
  push_stop({progress.last_decode, 0, request.admission, id, progress.epoch, StopAction::finish});
}

// A stop for the plan of a step with which the windows of a sequence change: one becomes full
// behind `held`, or, from `next` on, a full one takes a block and lets go of its first. In a
// pipeline the step behind the prompt is planned already: then the plan after it.
void Replica::stop_for_windows(RequestId id, TokenCount held, TokenCount next) {
  if (parts_.kv->sequence().uniform()) return;
  TokenCount change = parts_.kv->sequence().next_change(held);
  if (parts_.kv->moves_windows()) change = std::min(change, parts_.kv->sequence().next_move(next));
  if (change == INT64_MAX) return;
  const Request& request = requests_[id];
  const Progress& progress = progress_[id];
  const StepIndex decode = request.anchor_decode + change - request.computed_tokens;
  // Rows whose end is not known stay in the plans for so long.
  if (decode > progress.last_decode + parts_.options.pipeline_depth - 2) return;
  push_stop({.decode = std::max(decode + 1 - parts_.options.pipeline_depth, request.anchor_decode),
             .admission = request.admission,
             .id = id,
             .epoch = progress.epoch,
             .action = StopAction::windows_change});
}

void Replica::change_windows(RequestId id) {
  Request& request = requests_[id];
  const TokenCount held = computed_by(request, applied_decodes_);
  if (request.state != RequestState::decoding) return;
  decodes_.leave(parts_.kv->row_of(request, held));
  request.ids_per_block = parts_.kv->sequence().ids_per_block(held);
  decodes_.join(parts_.kv->row_of(request, held));
  if (parts_.kv->moves_windows()) moving_.emplace_back(id, progress_[id].epoch);
  stop_for_windows(id, held, held + 1);
}

// Of those that have not left since, in order of admission.
void Replica::move_windows() {
  for (const auto& [id, epoch] : moving_) {
    if (progress_[id].epoch != epoch || requests_[id].state != RequestState::decoding) continue;
    parts_.kv->move_windows(id, computed_by(requests_[id], applied_decodes_) + 1);
  }
  moving_.clear();
}

// How often a step could be planned now before somebody finishes or leaves the plans.
StepCount Replica::steps_to_next_stop() {
  drop_void_stops();
  if (stops_.empty()) return kManySteps / 2;
  return stops_.first_decode() + parts_.options.pipeline_depth - 1 - planned_decodes_;
}

// A plan is due only behind the next step end.
void Replica::schedule_later_stop() {
  StepIndex due = plan_due_;
  drop_void_stops();
  if (mostly(!stops_.empty())) due = std::min(due, step_of(stops_.top()));
  if (stops_for_first_tokens_) [[unlikely]] {
    due = std::min(due, next_first_token());
  }
  HEADROOM_CHECK(due > completed_ && due <= planned_, fmt::format("next stop at step {}", due));
  next_stop_step_ = due;
  next_stop_ns_ = floor_ns(end_of_step(due));
}

// Of one that is planned.
TickSum Replica::end_of_step(StepIndex step) const {
  TickSum instant = clock_;
  StepCount steps = step - completed_;
  for (std::size_t i = 0;; ++i) {
    const Segment& segment = pipeline_[i];
    const StepCount left = segment.left();
    instant += segment.duration(std::min(steps, left));
    if (mostly(steps <= left)) return instant;
    steps -= left;
  }
}

// The step at whose end `stop` is due; one that is not planned yet says that it is not among these.
StepIndex Replica::step_of(const Stop& stop) const {
  if (rarely(stop.decode <= completed_decodes_)) return stop.step;
  const StepCount pauses = planned_ - completed_ - (planned_decodes_ - completed_decodes_);
  if (mostly(pauses == 0)) {
    return std::max(completed_ + stop.decode - completed_decodes_, stop.step);
  }
  StepIndex step = completed_;
  StepIndex decode = completed_decodes_;
  for (std::size_t i = 0; i < pipeline_.size(); ++i) {
    const StepCount left = pipeline_[i].left();
    if (pipeline_[i].decodes) {
      if (stop.decode - decode <= left) return std::max(step + stop.decode - decode, stop.step);
      decode += left;
    }
    step += left;
  }
  return planned_ + 1;
}

StepIndex Replica::next_first_token() const {
  for (std::size_t i = 0; i < pipeline_.size(); ++i) {
    if (!pipeline_[i].first_tokens.empty()) return pipeline_[i].first;
  }
  return planned_ + 1;
}

}  // namespace headroom
