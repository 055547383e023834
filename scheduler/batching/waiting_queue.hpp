#pragma once
// Requests that wait for a seat, in the order of a scheduling policy. Two extra lanes: requests
// whose KV came from another replica are first, and with LoRA the first request whose adapter the
// batch may have is found without a search.

#include <cstdint>

#include "scheduler/batching/adapter_queue.hpp"
#include "scheduler/batching/policy_queue.hpp"
#include "scheduler/batching/request_list.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/adapter_slots.hpp"

namespace headroom {

class WaitingQueue {
 public:
  WaitingQueue(SchedulingPolicy policy, bool by_adapter)
      : by_adapter_(by_adapter), queue_(policy, PriorityQueue::Top::first) {}

  void push_back(RequestId id, const Request& request) {
    queue_.push_back(id, request);
    if (rarely(by_adapter_)) adapters_.push_back(id, request.adapter);
  }
  // One that ran before.
  void push_front(RequestId id, const Request& request) {
    queue_.push_front(id, request);
    if (rarely(by_adapter_)) adapters_.push_front(id, request.adapter);
  }
  // One that waits with its KV, behind the others of these.
  void push_arrived(RequestId id) { arrived_.push_back(id); }

  void remove(RequestId id) {
    if (rarely(arrived_.contains(id))) return arrived_.remove(id);
    queue_.remove(id);
    if (rarely(by_adapter_)) adapters_.remove(id);
  }

  [[nodiscard]] std::int64_t size() const { return queue_.size() + arrived_.size(); }

  // The next request to admit; kNoRequest: none, or none whose adapter the batch may have.
  // `adapters` of the batch; null: LoRA is off.
  [[nodiscard]] RequestId next(const AdapterSlots* adapters) const {
    if (rarely(!arrived_.empty())) return arrived_.front();
    const bool any = mostly(adapters == nullptr) || adapters->has_room();
    return any ? queue_.next() : adapters_.first_of(adapters->in_use());
  }

 private:
  bool by_adapter_;
  PolicyQueue queue_;
  AdapterQueue adapters_;  // the same requests
  RequestList arrived_;
};

}  // namespace headroom
