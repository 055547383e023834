// The part of Replica that is about clients that give up (docs/semantics.md, "Clients that leave").

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

bool Replica::awaits(RequestId id, std::uint64_t index, bool first_token, TimeNs time_ns) const {
  const RequestStory& story = core_.stories[id];
  if (!story.here || story.recorded || core_.requests[id].index != index) return false;
  const bool begun =
      story.first_token_ns >= 0 && story.first_token_ns <= time_ns && !options_.responds_at_end;
  return !story.cancelled && !(first_token && begun);
}

void Replica::cancel(RequestId id, TimeNs now_ns) {
  RequestStory& story = core_.stories[id];
  story.cancelled = true;
  const bool waits = core_.requests[id].state == RequestState::waiting;
  const bool in_flight =
      !waits || story.counted_to > core_.time.completed() || core_.remote.holds_early(id);
  if (in_flight && !options_.cancels_running) return;
  if (!core_.time.idle()) cut_at(now_ns);
  if (in_flight && !core_.time.idle() && core_.time.next_plan_ns() != now_ns) {
    return cancelled_.push_back(id);
  }
  withdraw(id, now_ns);
  if (core_.time.idle() && !outage_.lasts_at(now_ns)) core_.time.plan_at(now_ns);
}

void Replica::withdraw_cancelled(TimeNs now_ns) {
  HEADROOM_CHECK(core_.time.completed() >= core_.time.plan_due(),
                 "a client's leaving waits for the next step end");
  for (const RequestId id : cancelled_) {
    // What it waited for may have come with this step: then it has left already.
    if (core_.stories[id].here && core_.stories[id].cancelled) withdraw(id, now_ns);
  }
  cancelled_.clear();
}

// Takes a request out at an instant at which the engine plans: what is in flight for it is computed
// and dropped.
void Replica::withdraw(RequestId id, TimeNs now_ns) {
  Request& request = core_.requests[id];
  const bool waits = request.state == RequestState::waiting;
  shown_.become_stale();
  const bool leaves = leave_scheduler(id);
  HEADROOM_CHECK(leaves, "a row that cannot leave its batch was cancelled");
  EngineEvent event;
  event.kind = EngineEventKind::cancelled;
  event.time_ns = now_ns;
  event.replica = number_;
  event.request = request.index;
  event.tokens = core_.generated(id);
  event.was_waiting = waits;
  sink_.on_event(event);
  record(id, Outcome::cancelled, now_ns);
  core_.leave_adapter(request);
  if (waits) {
    // With pipeline stages its latest token may be in flight for longer than the next step.
    if (core_.stories[id].counted_to > core_.time.completed()) {
      ghost_rows_ += core_.forget_in_flight(id);
    }
    core_.leave_queue(id);
    core_.remote.withdraw(id, request, core_.sums, core_.kv);
  } else {
    ghost_rows_ += core_.forget_in_flight(id);
    const bool stands_by =
        request.state == RequestState::decoding ||
        core_.stories[id].last_decode > core_.time.completed_decodes(request.micro_batch);
    if (request.state != RequestState::prefilling && stands_by) core_.leave_pause(id);
    core_.leave_batch(id);
  }
  if (last_refused_ == id) last_refused_ = kNoRequest;
  core_.remove(id);
}

}  // namespace headroom
