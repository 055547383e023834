#include "sim/serving/request.hpp"

#include "sim/kernel/check.hpp"

namespace headroom {

RequestRecord unseen_record(const Arrival& arrival, std::uint64_t index, std::uint16_t replica,
                            Outcome outcome, TimeNs finish_ns) {
  RequestRecord record;
  record.arrival_ns = arrival.time_ns;
  record.finish_ns = finish_ns;
  record.index = index;
  record.prompt_tokens = arrival.prompt_tokens;
  record.max_tokens = arrival.max_tokens;
  record.replica = replica;
  record.class_id = static_cast<std::uint8_t>(arrival.class_id);
  record.outcome = outcome;
  return record;
}

RequestId RequestPool::add() {
  ++live_;
  if (!free_.empty()) {
    const RequestId id = free_.back();
    free_.pop_back();
    is_live_[id] = 1;
    return id;
  }
  HEADROOM_CHECK(slots_.size() < kNoRequest, "more live requests than ids");
  const auto id = static_cast<RequestId>(slots_.size());
  slots_.emplace_back();
  is_live_.push_back(1);
  free_.reserve(slots_.capacity());  // so that `remove` never allocates
  return id;
}

void RequestPool::remove(RequestId id) {
  HEADROOM_CHECK(id < slots_.size() && is_live_[id] != 0, "removal of a request that is not live");
  slots_[id].state = RequestState::gone;
  is_live_[id] = 0;
  --live_;
  free_.push_back(id);
}

}  // namespace headroom
