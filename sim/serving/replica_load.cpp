// The part of Replica that tells the fleet how loaded it is, and what became of its requests.

#include "sim/serving/replica.hpp"

namespace headroom {

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
  if (record.outcome == Outcome::finished) counts_.prompt_tokens += record.prompt_tokens;
  counts_.output_tokens += record.output_tokens;
  sink_.on_request(record);
}

}  // namespace headroom
