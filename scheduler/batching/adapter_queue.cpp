#include "scheduler/batching/adapter_queue.hpp"

#include <cstddef>

namespace headroom {

// Makes room for both.
AdapterQueue::Ends& AdapterQueue::ends_of(RequestId id, std::int32_t adapter) {
  if (id >= links_.size()) links_.resize(id + 1);
  const auto number = static_cast<std::size_t>(adapter);
  if (number >= ends_.size()) ends_.resize(number + 1);
  return ends_[number];
}

void AdapterQueue::push_back(RequestId id, std::int32_t adapter) {
  Ends& ends = ends_of(id, adapter);
  links_[id] = {ends.last, kNoRequest, ++last_place_, adapter};
  (ends.last == kNoRequest ? ends.first : links_[ends.last].next) = id;
  ends.last = id;
}

void AdapterQueue::push_front(RequestId id, std::int32_t adapter) {
  Ends& ends = ends_of(id, adapter);
  links_[id] = {kNoRequest, ends.first, --first_place_, adapter};
  (ends.first == kNoRequest ? ends.last : links_[ends.first].previous) = id;
  ends.first = id;
}

void AdapterQueue::remove(RequestId id) {
  const Link& link = links_[id];
  Ends& ends = ends_[static_cast<std::size_t>(link.adapter)];
  (link.previous == kNoRequest ? ends.first : links_[link.previous].next) = link.next;
  (link.next == kNoRequest ? ends.last : links_[link.next].previous) = link.previous;
}

RequestId AdapterQueue::first(std::int32_t adapter) const {
  const auto number = static_cast<std::size_t>(adapter);
  return number < ends_.size() ? ends_[number].first : kNoRequest;
}

RequestId AdapterQueue::first_of(std::span<const std::int32_t> adapters) const {
  RequestId best = first(0);
  for (const std::int32_t adapter : adapters) {
    const RequestId id = first(adapter);
    if (id == kNoRequest) continue;
    if (best == kNoRequest || links_[id].place < links_[best].place) best = id;
  }
  return best;
}

}  // namespace headroom
