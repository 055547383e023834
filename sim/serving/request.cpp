#include "sim/serving/request.hpp"

#include "sim/kernel/check.hpp"

namespace headroom {

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
