// The part of Fleet for judged answers and for requests that continue on another route
// (docs/semantics.md, "Cascades").

#include "sim/serving/fleet.hpp"
#include "sim/serving/route_stages.hpp"

namespace headroom {

// A replica is done with it: it leaves the fleet, unless its answer is judged.
void Fleet::settle(const Departure& departure, TimeNs now_ns) {
  if (stages_->has_left(departure.index, now_ns)) {
    return depart(departure.index, departure.outcome, now_ns);
  }
  ++in_transit_;
  schedule_verdicts();
}

void Fleet::schedule_verdicts() {
  reschedule(Priority::arrival, sources_.of(SourceKind::verdicts), stages_->next_verdict_ns(),
             next_verdict_ns_);
}

void Fleet::give_verdict(TimeNs now_ns) {
  next_verdict_ns_ = kNever;  // taken
  const RouteStages::Verdict verdict = stages_->take_verdict();
  --in_transit_;
  if (verdict.next != nullptr) {
    send(*verdict.next, verdict.index, now_ns);
  } else {
    depart(verdict.index, verdict.outcome, now_ns);
    schedule_arrival(now_ns);
  }
  schedule_verdicts();
}

}  // namespace headroom
