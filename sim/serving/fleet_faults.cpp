// The part of Fleet that is about replicas that fail (docs/semantics.md, "A fleet").

#include "sim/kernel/check.hpp"
#include "sim/serving/fleet.hpp"

namespace headroom {

// A run does not go on for the sake of replicas that crash and come back.
bool Fleet::is_over() const { return next_arrival_ns_ == kNever && totals_.arrived == departed_; }

// At one nanosecond faults, and then decisions to scale, come behind clients that give up, and
// before plans.
bool Fleet::aside_is_next(const Event& event) const {
  if (time_of_aside() != event.time_ns) return time_of_aside() < event.time_ns;
  return event.priority > Priority::cancel;
}

void Fleet::fail(TimeNs now_ns) {
  const Fault fault = parts_.faults->take();
  next_fault_ns_ = parts_.faults->next_time();
  HEADROOM_CHECK(
      fault.time_ns == now_ns && fault.replica < replicas_.size() && next_fault_ns_ >= now_ns,
      "a fault out of order, or of no replica");
  if (fault.kind == FaultKind::crash || fault.kind == FaultKind::zone_loss) {
    return crash(fault, now_ns);
  }
  const bool slow = fault.kind == FaultKind::slow;
  replicas_[fault.replica]->use_cost(slow ? fault.slow_cost : -1, now_ns);
  reschedule(fault.replica);
}

void Fleet::crash(const Fault& fault, TimeNs now_ns) {
  if (parts_.lifecycle && !parts_.lifecycle->exists(fault.replica)) {
    if (fault.kind == FaultKind::crash) return;
    return parts_.lifecycle->on_place_lost(fault.replica, now_ns + fault.down_ns);
  }
  std::vector<HandedBack> lost;
  replicas_[fault.replica]->crash(now_ns, fault.down_ns, options_.resends_lost ? &lost : nullptr);
  in_transit_ += static_cast<std::int64_t>(lost.size());
  account(fault.replica, now_ns);
  reschedule(fault.replica);
  for (const HandedBack& one : lost) resend(fault.replica, one, now_ns);
}

// It begins anew elsewhere; its arrival, its deadlines and its place in the results stay.
void Fleet::resend(std::uint32_t from, const HandedBack& lost, TimeNs now_ns) {
  const Arrival arrival = in_flight_.at(lost.index);
  if (apart_) {
    if (const auto over = apart_->end(lost.index)) release_kv(*over, now_ns);
  }
  prompt_tokens_[from] -= arrival.prompt_tokens;
  note_load(from, now_ns);
  const std::uint32_t number = first_replica(arrival, lost.index, now_ns);
  --in_transit_;
  if (number == kNoReplica) {
    return turn_away(arrival, lost.index, now_ns, Outcome::lost_to_fault, lost.queued_ns);
  }
  prompt_tokens_[number] += arrival.prompt_tokens;
  Replica& replica = *replicas_[number];
  await(arrival, lost.index, number, replica.submit(arrival, lost.index, now_ns, lost.queued_ns));
  account(number, now_ns);
  reschedule(number);
}

}  // namespace headroom
