// The part of Fleet that is about replicas that come, drain, restart and go (docs/semantics.md,
// "Replicas that come and go").

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/fleet.hpp"

namespace headroom {

// At one nanosecond faults, and then decisions to scale, come behind clients that give up, and
// before plans.
void Fleet::schedule_daemons() {
  if (parts_.faults) {
    reschedule(Priority::cancel, sources_.of(SourceKind::faults), parts_.faults->next_time(),
               next_fault_ns_);
  }
  if (parts_.lifecycle) {
    reschedule(Priority::cancel, sources_.of(SourceKind::lifecycle), parts_.lifecycle->next_time(),
               next_lifecycle_ns_);
  }
}

// A daemon's event was taken: whether nothing else will happen but for the sake of daemons. The
// event is pending again behind this, until the daemon says what comes next.
bool Fleet::only_daemons_wait() {
  if (parts_.faults) events_.cancel(Priority::cancel, sources_.of(SourceKind::faults));
  if (parts_.lifecycle) events_.cancel(Priority::cancel, sources_.of(SourceKind::lifecycle));
  const bool nobody_else = events_.next_ns() == kNever;
  next_fault_ns_ = next_lifecycle_ns_ = kNever;
  schedule_daemons();
  return nobody_else;
}

void Fleet::begin_places() {
  if (!parts_.lifecycle) return;
  for (std::uint32_t i = 0; i < replicas_.size(); ++i) {
    replicas_[i]->tell_latencies(parts_.lifecycle->ttft_of(i), parts_.lifecycle->tpot_of(i));
  }
  for (std::uint32_t i = 0; i < replicas_.size(); ++i) {
    if (!parts_.lifecycle->exists(i)) replicas_[i]->restart(0, kNever);
  }
}

void Fleet::scale(TimeNs now_ns) {
  for (std::uint32_t i = 0; i < replicas_.size(); ++i) {
    const std::optional<TimeNs> overdue_ns = parts_.lifecycle->overdue_of(i);
    if (overdue_ns) replicas_[i]->tell_overdue(now_ns, *overdue_ns);
  }
  parts_.lifecycle->act(now_ns);
  HEADROOM_CHECK(parts_.lifecycle->next_time() > now_ns, "a decision that does not end");
  obey(now_ns);
}

void Fleet::obey(TimeNs now_ns) {
  while (const std::optional<ReplicaOrder> order = parts_.lifecycle->take_order()) {
    const std::uint32_t number = order->replica;
    if (order->kind == ReplicaOrder::Kind::close) {
      ReplicaLoad closed = loads_[number];
      closed.up = false;
      show_load(number, closed);
    } else {
      const bool starts = order->kind == ReplicaOrder::Kind::start;
      replicas_[number]->restart(now_ns, starts ? order->ready_ns : kNever);
    }
    account(number, now_ns);  // it may be empty already
    reschedule(number);
  }
  schedule_daemons();
}

// Rows whose requests have left, answers on their way, and requests on theirs also keep a replica
// from being empty.
bool Fleet::is_empty(std::uint32_t number) const {
  const ApiServer* api = replicas_[number]->api_server();
  if (entries_ && entries_->held_for(number) > 0) return false;
  return replicas_[number]->live() == 0 && (api == nullptr || api->held() == 0);
}

// A router that finds no replica up chooses among all, and may choose one that does not exist.
std::uint32_t Fleet::one_that_takes(std::uint32_t number) {
  if (mostly(parts_.lifecycle == nullptr)) return number;
  const std::optional<std::uint32_t> found = parts_.lifecycle->nearest_that_takes(number);
  if (!found) ++totals_.without_replica;
  return found.value_or(kNoReplica);
}

}  // namespace headroom
