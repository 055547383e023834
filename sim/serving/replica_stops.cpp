// The part of Replica that is about the step ends at which it has something to do.

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

void Replica::process_due_stops() {
  StopQueue& stops = time_.stops();
  while (stops.first_decode() <= time_.completed_decodes() &&
         stops.top().step <= time_.completed()) {
    Stop stop = stops.top();
    stops.pop();
    HEADROOM_CHECK(
        (stop.step > 0 || stop.decode == time_.completed_decodes()) &&
            time_.completed() == time_.plan_due(),
        fmt::format("stop of decode step {} seen at {}", stop.decode, time_.completed_decodes()));
    if (stop.action == StopAction::leave_plans) [[unlikely]] {
      if (time_.applied_decodes() < stories_[stop.id].last_decode) {
        // Its last decode step waits for a step in flight in which decodes pause.
        stop.step = time_.completed() + 1;
        stops.push(stop);
      } else {
        leave_plans(stop.id);
      }
    } else if (stop.action == StopAction::windows_change) [[unlikely]] {
      change_windows(stop.id);
    } else {
      finish(stop.id);
    }
  }
  stops.begin_at(std::min(time_.completed_decodes(), stops.first_decode()));
}

// All max_tokens of `id` are planned: its last step is in flight, later plans go without it.
void Replica::leave_plans(RequestId id) {
  Request& request = requests_[id];
  const RequestStory& story = stories_[id];
  const TokenCount held = computed_by(request, time_.applied_decodes());
  HEADROOM_CHECK(story.last_decode == time_.applied_decodes(),
                 "left out of plans before its last step was planned");
  leave_adapter(request);
  sums_.end_decoding(request, held);
  request.computed_tokens = static_cast<std::int32_t>(held);
  request.state = RequestState::ending;
  sums_.hold(held);
  time_.stops().push({.decode = story.last_decode, .admission = request.admission, .id = id});
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
  const RequestStory& story = stories_[id];
  const StepIndex decode = request.anchor_decode + change - request.computed_tokens;
  // Rows whose end is not known stay in the plans for so long.
  if (decode > story.last_decode + time_.depth() - 2) return;
  time_.stops().push({.decode = std::max(decode + 1 - time_.depth(), request.anchor_decode),
                      .admission = request.admission,
                      .id = id,
                      .action = StopAction::windows_change});
}

void Replica::change_windows(RequestId id) {
  Request& request = requests_[id];
  const TokenCount held = computed_by(request, time_.applied_decodes());
  if (request.state != RequestState::decoding) return;
  sums_.end_decoding(request, held);
  request.ids_per_block = parts_.kv->sequence().ids_per_block(held);
  sums_.begin_decoding(request, held);
  if (parts_.kv->moves_windows()) moving_.push_back(hold_of(id));
  stop_for_windows(id, held, held + 1);
}

// Of those that have not left since, in order of admission.
void Replica::move_windows() {
  for (const KvHold& hold : moving_) {
    const Request& request = requests_[hold.id];
    if (hold_of(hold.id) != hold || request.state != RequestState::decoding) continue;
    parts_.kv->windows()->move(hold.id, computed_by(request, time_.applied_decodes()) + 1);
  }
  moving_.clear();
}

}  // namespace headroom
