#include "scheduler/batching/priority_queue.hpp"

#include "sim/kernel/check.hpp"

namespace headroom {

void PriorityQueue::push(RequestId id, const Request& request) {
  if (id >= slot_.size()) slot_.resize(id + 1, kNoSlot);
  HEADROOM_CHECK(slot_[id] == kNoSlot, "a request is queued twice");
  heap_.emplace_back();
  sift(heap_.size() - 1, {{request.priority, request.index}, id});
}

void PriorityQueue::remove(RequestId id) {
  HEADROOM_CHECK(contains(id), "a request leaves a queue it is not in");
  const std::size_t hole = slot_[id];
  slot_[id] = kNoSlot;
  const Entry moved = heap_.back();
  heap_.pop_back();
  if (moved.id != id) sift(hole, moved);
}

void PriorityQueue::clear() {
  heap_.clear();
  slot_.clear();
}

void PriorityQueue::place(std::size_t slot, const Entry& entry) {
  heap_[slot] = entry;
  slot_[entry.id] = static_cast<std::uint32_t>(slot);
}

// Puts `entry` where it belongs, from the free `slot` up or down.
void PriorityQueue::sift(std::size_t slot, const Entry& entry) {
  while (slot > 0 && above(entry, heap_[(slot - 1) / 2])) {
    place(slot, heap_[(slot - 1) / 2]);
    slot = (slot - 1) / 2;
  }
  for (std::size_t child = 2 * slot + 1; child < heap_.size(); child = 2 * slot + 1) {
    if (child + 1 < heap_.size() && above(heap_[child + 1], heap_[child])) ++child;
    if (!above(heap_[child], entry)) break;
    place(slot, heap_[child]);
    slot = child;
  }
  place(slot, entry);
}

}  // namespace headroom
