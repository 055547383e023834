// The part of Fleet for requests that wait on their way into an engine (docs/semantics.md, "The API
// server").

#include "sim/serving/fleet.hpp"

namespace headroom {

bool Fleet::hold_back(const Arrival& arrival, std::uint64_t index, std::uint32_t number,
                      TimeNs now_ns) {
  if (!entries_->holds(arrival, index, number, now_ns)) return false;
  ++in_transit_;
  reschedule(Priority::arrival, sources_.of(SourceKind::entries), entries_->next_ns(),
             next_entry_ns_);
  return true;
}

void Fleet::admit_held(TimeNs now_ns) {
  next_entry_ns_ = kNever;  // taken
  const std::optional<EntryQueues::Held> held = entries_->take(now_ns);
  reschedule(Priority::arrival, sources_.of(SourceKind::entries), entries_->next_ns(),
             next_entry_ns_);
  if (!held) return;
  const std::uint32_t number = held->replica;
  Replica& replica = *replicas_[number];
  const bool has_died = options_.resends_lost && replica.turns_away(now_ns) &&
                        replica.down_outcome() == Outcome::lost_to_fault;
  if (has_died && !held->gives_up) return resend(number, {.index = held->index}, now_ns);
  --in_transit_;
  if (held->gives_up) {
    replica.record_unseen(unseen_record(held->arrival, held->index,
                                        static_cast<std::uint16_t>(number), Outcome::cancelled,
                                        now_ns));
  } else {
    await(held->arrival, held->index, number, replica.submit(held->arrival, held->index, now_ns));
  }
  account(number, now_ns);
  reschedule(number);
}

// The run ends, and they are unfinished.
void Fleet::settle_entries() {
  totals_.entries = entries_->use();
  for (const EntryQueues::Held& held : entries_->drop_all()) {
    --in_transit_;
    replicas_[held.replica]->record_unseen(unseen_record(held.arrival, held.index,
                                                         static_cast<std::uint16_t>(held.replica),
                                                         Outcome::unfinished, -1));
  }
}

}  // namespace headroom
