#pragma once
// The step ends at which something other than "everybody decodes on" happens to a request.

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/serving/types.hpp"

namespace headroom {

enum class StopAction : std::uint8_t {
  finish,         // it has yielded its last token
  leave_plans,    // its declared end is in sight: the plan made now leaves it out (pipeline depth >
                  // 1)
  windows_change  // a window of its layers takes no further ids from here on, or moves on
};

// Due when so many decode steps have ended, and step `step` as well (0: says nothing; set where
// decodes pause in that step). Ordered by that, then by rank of admission: at one step end requests
// finish in running order.
struct Stop {
  StepIndex decode = 0;
  StepIndex step = 0;
  std::uint64_t admission = 0;
  RequestId id = kNoRequest;
  std::uint32_t epoch = 0;  // the entry is void when the request's epoch has moved on
  StopAction action = StopAction::finish;

  friend constexpr auto operator<=>(const Stop&, const Stop&) = default;
};

// A binary min-heap; void entries are dropped by the owner when they reach the top.
class StopHeap {
 public:
  void push(const Stop& stop) {
    heap_.emplace_back() = stop;  // field by field: push_back() would read it back from memory
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] const Stop& top() const { return heap_.front(); }
  void pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    heap_.pop_back();
  }
  void clear() { heap_.clear(); }

 private:
  std::vector<Stop> heap_;
};

}  // namespace headroom
