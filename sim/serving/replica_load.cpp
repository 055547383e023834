// The part of Replica that says how it stands: to the sinks, and to the fleet with what became of
// its requests.

#include <algorithm>

#include "sim/kernel/likely.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

ReplicaState Replica::state() const {
  ReplicaState now;
  read_state(now);
  return now;
}

// In place: a copy of what was just written in smaller parts would wait for it.
void Replica::read_state(ReplicaState& now) const {
  const KvPoolState& pool = this->pool();
  now.running = sums_.running();
  now.waiting = sums_.waiting();
  now.kv_tokens = sums_.kept() - pool.shared_blocks * pool.block_tokens;
  now.reserved_tokens = mostly(pool.grows_with_decode)
                            ? TokenCount{0}
                            : std::max<TokenCount>(0, sums_.still_to_come());
  now.pool = pool;
}

ReplicaLoad Replica::load(TimeNs now_ns) const {
  ReplicaLoad load;
  load.running = sums_.running();
  load.waiting = sums_.waiting() + (api_ ? static_cast<std::int64_t>(api_->held()) : 0);
  load.waiting_tokens = sums_.waiting_tokens();
  load.outstanding_tokens = shown_.generated_tokens();
  load.kv_tokens = shown_.kv_tokens();
  load.kv_capacity = pool().total_blocks * pool().block_tokens;
  load.up = !outage_.lasts_at(now_ns);
  return load;
}

void Replica::tell_overdue(TimeNs now_ns, TimeNs overdue_ns) {
  if (!tally_.tells_first_tokens()) return;
  for (RequestId id = 0; id < stories_.size(); ++id) {
    const RequestStory& story = stories_[id];
    const bool waits = story.here && !story.recorded && !story.cancelled &&
                       (story.first_token_ns < 0 || parts_.options.responds_at_end);
    if (!waits) continue;
    const TimeNs waited_ns = now_ns - requests_[id].arrival_ns;
    if (waited_ns > overdue_ns) tally_.on_overdue(waited_ns);
  }
}

}  // namespace headroom
