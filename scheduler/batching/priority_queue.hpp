#pragma once
// Requests by (priority, order of arrival), a total order: the first or the last of them at hand,
// take from anywhere, in O(log n). No allocation once as many have been in it as ever are.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/serving/request.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class PriorityQueue {
 public:
  enum class Top : std::uint8_t {
    first,  // smallest (priority, arrival): served next
    last    // largest: who gives way next
  };
  explicit PriorityQueue(Top top) : top_(top) {}

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(heap_.size()); }
  [[nodiscard]] RequestId top() const { return heap_.empty() ? kNoRequest : heap_.front().id; }
  [[nodiscard]] bool contains(RequestId id) const {
    return id < slot_.size() && slot_[id] != kNoSlot;
  }

  void push(RequestId id, const Request& request);
  void remove(RequestId id);
  void clear();

 private:
  struct Rank {
    std::int32_t priority = 0;
    std::uint64_t arrival = 0;
    friend auto operator<=>(const Rank&, const Rank&) = default;
  };
  struct Entry {
    Rank rank;
    RequestId id = kNoRequest;
  };
  static constexpr std::uint32_t kNoSlot = UINT32_MAX;

  [[nodiscard]] bool above(const Entry& a, const Entry& b) const {
    return top_ == Top::first ? a.rank < b.rank : b.rank < a.rank;
  }
  void place(std::size_t slot, const Entry& entry);
  void sift(std::size_t slot, const Entry& entry);

  Top top_;
  std::vector<Entry> heap_;          // binary: no entry is above its parent
  std::vector<std::uint32_t> slot_;  // by RequestId: where in the heap
};

}  // namespace headroom
