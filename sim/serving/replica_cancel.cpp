// The part of Replica that is about clients that give up (docs/semantics.md, "Clients that leave").

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

bool Replica::awaits(RequestId id, std::uint64_t index, bool first_token, TimeNs time_ns) const {
  const RequestStory& story = stories_[id];
  if (!story.here || story.recorded || requests_[id].index != index) return false;
  const bool begun = story.first_token_ns >= 0 && story.first_token_ns <= time_ns &&
                     !parts_.options.responds_at_end;
  return !story.cancelled && !(first_token && begun);
}

void Replica::cancel(RequestId id, TimeNs now_ns) {
  RequestStory& story = stories_[id];
  story.cancelled = true;
  const bool waits = requests_[id].state == RequestState::waiting;
  const bool in_flight = !waits || story.counted_to > time_.completed() || remote_.holds_early(id);
  if (in_flight && !parts_.options.cancels_running) return;
  if (!time_.idle()) cut_at(now_ns);
  if (in_flight && !time_.idle() && time_.next_plan_ns() != now_ns) return cancelled_.push_back(id);
  withdraw(id, now_ns);
  if (time_.idle() && !outage_.lasts_at(now_ns)) time_.plan_at(now_ns);
}

void Replica::withdraw_cancelled(TimeNs now_ns) {
  HEADROOM_CHECK(time_.completed() >= time_.plan_due(),
                 "a client's leaving waits for the next step end");
  for (const RequestId id : cancelled_) {
    // What it waited for may have come with this step: then it has left already.
    if (stories_[id].here && stories_[id].cancelled) withdraw(id, now_ns);
  }
  cancelled_.clear();
}

// Takes a request out at an instant at which the engine plans: what is in flight for it is computed
// and dropped.
void Replica::withdraw(RequestId id, TimeNs now_ns) {
  Request& request = requests_[id];
  const bool waits = request.state == RequestState::waiting;
  shown_.become_stale();
  const bool leaves = leave_scheduler(id);
  HEADROOM_CHECK(leaves, "a row that cannot leave its batch was cancelled");
  EngineEvent event;
  event.kind = EngineEventKind::cancelled;
  event.time_ns = now_ns;
  event.replica = number_;
  event.request = request.index;
  event.tokens = generated_so_far(id);
  event.was_waiting = waits;
  sink_.on_event(event);
  record(id, Outcome::cancelled, now_ns);
  leave_adapter(request);
  if (waits) {
    leave_queue(id);
    remote_.withdraw(id, request, sums_, *parts_.kv);
  } else {
    const TokenCount held = computed_by(request, time_.applied_decodes());
    const TokenCount unnamed = unnamed_tokens(id, held);
    forget_in_flight(id);
    const bool stands_by = request.state == RequestState::decoding ||
                           stories_[id].last_decode > time_.completed_decodes();
    if (request.state != RequestState::prefilling && stands_by) leave_pause(id);
    leave_batch(id, held, unnamed);
  }
  if (last_refused_ == id) last_refused_ = kNoRequest;
  remove(id);
}

// Rows of steps in flight stay as priced, but yield nothing for this request.
void Replica::forget_in_flight(RequestId id) {
  const RequestStory& story = stories_[id];
  if (requests_[id].state == RequestState::prefilling) return;
  StepIndex decodes = time_.completed_decodes();
  for (std::size_t i = 0; i < time_.segments().size(); ++i) {
    Segment& segment = time_.segments()[i];
    if (std::erase(segment.first_tokens, id) > 0) {
      ++ghost_rows_;
    } else if (segment.decodes && story.last_decode > decodes) {
      --segment.gaps_per_step;
    }
    if (segment.decodes) decodes += segment.left();
  }
}

}  // namespace headroom
