#pragma once
// Waiting or running requests under vLLM's scheduling_policy. `fcfs` keeps the order in which they
// are put in, in O(1); `priority` orders by (priority, arrival), in O(log n).

#include "scheduler/batching/priority_queue.hpp"
#include "scheduler/batching/request_list.hpp"
#include "sim/kernel/likely.hpp"

namespace headroom {

// Which waiting request comes first (vLLM's scheduling_policy).
enum class SchedulingPolicy : std::uint8_t { fcfs, priority };

class PolicyQueue {
 public:
  // `top`: which end is at hand: `first` for those that wait, `last` for those that run.
  PolicyQueue(SchedulingPolicy policy, PriorityQueue::Top top)
      : fcfs_(policy == SchedulingPolicy::fcfs), top_(top), ranked_(top) {}

  [[nodiscard]] std::int64_t size() const {
    return mostly(fcfs_) ? listed_.size() : ranked_.size();
  }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] bool contains(RequestId id) const {
    return fcfs_ ? listed_.contains(id) : ranked_.contains(id);
  }
  // The next to be admitted, or to be preempted; kNoRequest when empty.
  [[nodiscard]] RequestId next() const {
    if (rarely(!fcfs_)) return ranked_.top();
    return mostly(top_ == PriorityQueue::Top::first) ? listed_.front() : listed_.back();
  }

  // fcfs: all of them, in order.
  [[nodiscard]] const RequestList& listed() const { return listed_; }

  void push_back(RequestId id, const Request& request) {
    fcfs_ ? listed_.push_back(id) : ranked_.push(id, request);
  }
  void push_front(RequestId id, const Request& request) {
    fcfs_ ? listed_.push_front(id) : ranked_.push(id, request);
  }
  void remove(RequestId id) { fcfs_ ? listed_.remove(id) : ranked_.remove(id); }
  void clear() {
    listed_.clear();
    ranked_.clear();
  }

 private:
  bool fcfs_;
  PriorityQueue::Top top_;
  RequestList listed_;
  PriorityQueue ranked_;
};

}  // namespace headroom
