// The part of Fleet for callers with a clock of their own, who learn of requests on the way.
//
// Nothing in a fleet depends on arrivals that are still to come: a run of equal steps is planned as
// if there were none, and each arrival cuts it where it comes. So it makes no difference when the
// fleet learns of one, as long as nothing later has happened.

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/serving/fleet.hpp"

namespace headroom {

void Fleet::advance(TimeNs until_ns) {
  RunPosition& position = run_position();
  position = {totals_.end_ns, totals_.events, options_.seed};
  while (next_event_ns() <= until_ns) {
    rests_ = has_daemons_ && is_over();
    if (rests_) break;
    const Event event = take_next();
    rests_ = has_daemons_ && sources_[event.source].daemon && only_daemons_wait();
    if (rests_) break;
    HEADROOM_CHECK(event.time_ns >= totals_.end_ns, "time runs backwards");
    position.now_ns = totals_.end_ns = event.time_ns;
    position.event = ++totals_.events;
    handle(event.time_ns, event.priority, event.source);
    if ((totals_.events & (options_.full_check_interval - 1)) == 0) check_one();
  }
  for (const auto& replica : replicas_) replica->end_steps_by(until_ns);
}

TimeNs Fleet::next_ns() const {
  if (rests_) return kNever;
  TimeNs next_ns = next_event_ns();
  for (const auto& replica : replicas_) next_ns = std::min(next_ns, replica->next_step_end_ns());
  return next_ns;
}

// What was found to come first may no longer do so.
void Fleet::queue_ahead() {
  if (ahead_.time_ns == kNever) return;
  ahead_.time_ns = kNever;
  reschedule(ahead_.source);
}

void Fleet::note_arrivals() {
  rests_ = false;
  queue_ahead();
  schedule_arrival(totals_.end_ns);
}

void Fleet::leave(std::uint64_t index, TimeNs now_ns) {
  HEADROOM_CHECK(
      options_.follows_requests && !stages_ && replicas_.front()->api_server() == nullptr,
      "a request leaves that is not followed");
  queue_ahead();
  // Another replica may still take it over, and shall know.
  if (const auto kept = in_flight_.find(index); kept != in_flight_.end()) {
    kept->second.deadline_ns = now_ns;
  }
  if (const auto place = places_.find(index); place != places_.end()) {
    deadlines_.push({now_ns, index, place->second.id, place->second.replica, false});
    return schedule_deadline();
  }
  if (entries_ && entries_->give_up(index, now_ns)) {
    reschedule(Priority::arrival, sources_.of(SourceKind::entries), entries_->next_ns(),
               next_entry_ns_);
  }
}

std::optional<std::int32_t> Fleet::tokens_out(std::uint64_t index) const {
  const auto place = places_.find(index);
  if (place == places_.end()) return std::nullopt;
  return replicas_[place->second.replica]->tokens_of(place->second.id, index);
}

StopReason Fleet::end(TimeNs now_ns) {
  StopReason reason = StopReason::drained;
  if (totals_.arrived > departed_) {
    reason = next_event_ns() == kNever ? StopReason::no_progress : StopReason::interrupted;
  }
  stop_at(reason == StopReason::interrupted ? now_ns : totals_.end_ns, reason);
  return reason;
}

}  // namespace headroom
