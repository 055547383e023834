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
  const TokenCount held = decodes_.kept_sum() + prefill_kept_;
  now.running = residents_ - ghosts_;
  now.waiting = waiting_;
  now.kv_tokens = held - pool.shared_blocks * pool.block_tokens;
  now.reserved_tokens = mostly(pool.grows_with_decode)
                            ? TokenCount{0}
                            : std::max<TokenCount>(0, final_tokens_ - (held - ghost_tokens_));
  now.pool = pool;
}

void Replica::enter_queue(RequestId id) {
  ++waiting_;
  waiting_tokens_ += queued_tokens(id);
}

void Replica::leave_queue(RequestId id) {
  --waiting_;
  waiting_tokens_ -= queued_tokens(id);
}

void Replica::show_load() {
  membership_changed_ = false;
  shown_kv_tokens_ = pool().used_blocks() * pool().block_tokens;
  shown_generated_ = static_cast<TokenCount>(tokens_out_ - recorded_tokens_);
}

ReplicaLoad Replica::load(TimeNs now_ns) const {
  ReplicaLoad load;
  load.running = residents_ - ghosts_;
  load.waiting = waiting_ + (api_ ? static_cast<std::int64_t>(api_->held()) : 0);
  load.waiting_tokens = waiting_tokens_;
  load.outstanding_tokens = shown_generated_;
  load.kv_tokens = shown_kv_tokens_;
  load.kv_capacity = pool().total_blocks * pool().block_tokens;
  load.up = now_ns >= down_until_ns_;
  return load;
}

void Replica::report(const RequestRecord& record) {
  ++counts_.requests[static_cast<std::size_t>(record.outcome)];
  if (mostly(record.outcome == Outcome::finished)) counts_.prompt_tokens += record.prompt_tokens;
  counts_.output_tokens += record.output_tokens;
  if (record.outcome == Outcome::finished && record.first_token_ns >= 0) tell_answer(record);
  sink_.on_request(record);
}

void Replica::tell_answer(const RequestRecord& record) {
  if (rarely(ttft_ != nullptr) && parts_.options.responds_at_end) {
    ttft_->add(record.first_token_ns - record.arrival_ns);
  }
  if (rarely(tpot_ != nullptr) && record.output_tokens > 1) {
    tpot_->add((record.finish_ns - record.first_token_ns) / (record.output_tokens - 1));
  }
}

void Replica::tell_overdue(TimeNs now_ns, TimeNs overdue_ns) {
  if (ttft_ == nullptr) return;
  for (RequestId id = 0; id < progress_.size(); ++id) {
    const Progress& progress = progress_[id];
    const bool waits = progress.here && !progress.recorded && !progress.cancelled &&
                       (progress.first_token_ns < 0 || parts_.options.responds_at_end);
    if (!waits) continue;
    const TimeNs waited_ns = now_ns - requests_[id].arrival_ns;
    if (waited_ns > overdue_ns) ttft_->add(waited_ns);
  }
}

}  // namespace headroom
