// The part of Fleet that is about replicas that fail (docs/semantics.md, "A fleet").

#include "sim/kernel/check.hpp"
#include "sim/serving/fleet.hpp"

namespace headroom {

// Replicas that crash and come back do not keep a run going.
bool Fleet::is_over() const { return next_arrival_ns_ == kNever && totals_.arrived == departed_; }

void Fleet::fail(TimeNs now_ns) {
  const Fault fault = parts_.faults->take();
  HEADROOM_CHECK(fault.time_ns == now_ns && fault.replica < replicas_.size() &&
                     parts_.faults->next_time() >= now_ns,
                 "a fault out of order, or of no replica");
  schedule_daemons();
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
    parts_.lifecycle->on_place_lost(fault.replica, now_ns + fault.down_ns);
    return schedule_daemons();
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
