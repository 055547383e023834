#pragma once
// The step ends at which something other than "all decode on" happens to a request.

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
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
  std::uint32_t epoch = 0;  // of the request when the stop was pushed; the queue sets it
  StopAction action = StopAction::finish;

  friend constexpr auto operator<=>(const Stop&, const Stop&) = default;
};

// Stops in their order. A request whose plans change gets a new epoch: stops pushed before are
// void, and are dropped when they come first.
//
// Those of the next thousand decode steps lie in a ring of buckets, one for each step, and a bit
// says which buckets have any: putting one in and finding the first takes no comparisons that could
// not be foreseen, as those of a heap. The few that are further away are in a heap.
class StopQueue {
 public:
  // Makes room for request `id`; its epoch continues from the last request with that number.
  void track(RequestId id) {
    if (rarely(id >= marks_.size())) marks_.resize(std::size_t{id} + 1);
  }
  // Of a tracked request: what was to happen to it will not.
  void begin_epoch(RequestId id) {
    Mark& mark = marks_[id];
    ++mark.epoch;
    void_ += mark.stops;
    mark.stops = 0;
  }
  [[nodiscard]] std::uint32_t epoch(RequestId id) const { return marks_[id].epoch; }

  // Of a tracked request; stop.decode >= `decode` of every begin_at() so far. Inlined, so that a
  // stop is not written in its parts and read back in wider ones, which would wait for them.
  [[gnu::always_inline]] void push(Stop stop) {
    HEADROOM_CHECK(stop.decode >= begin_, "a stop in the past");
    Mark& mark = marks_[stop.id];
    ++mark.stops;
    stop.epoch = mark.epoch;
    if (rarely(stop.decode <= first_decode_) && first_ != kNoEntry && stop < first()) {
      first_ = kNoEntry;
    }
    ++size_;
    if (stop.decode - begin_ >= kBuckets) {
      far_.push_back(stop);
      std::push_heap(far_.begin(), far_.end(), std::greater<>{});
      return;
    }
    const std::uint32_t entry = take_spare();
    const std::size_t bucket = bucket_of(stop.decode);
    entries_[entry].stop = stop;
    entries_[entry].next = buckets_[bucket];
    buckets_[bucket] = entry;
    filled_[bucket / 64] |= std::uint64_t{1} << (bucket % 64);
    words_ = static_cast<std::uint16_t>(words_ | 1U << (bucket / 64));
  }
  [[nodiscard]] bool empty() const { return size_ == void_; }
  [[nodiscard]] const Stop& top() {
    if (rarely(void_ > 0)) drop_void();
    HEADROOM_CHECK(size_ > 0, "the first of no stops");
    if (first_ == kNoEntry) find_first();
    return first();
  }
  // Takes out top().
  void pop() {
    --marks_[top().id].stops;
    take_first();
  }
  // top().decode; INT64_MAX when there are no stops.
  [[nodiscard]] StepIndex first_decode() {
    if (rarely(void_ > 0)) drop_void();
    if (first_ == kNoEntry) find_first();
    return first_decode_;
  }
  // No stop lies before decode step `decode`, nor will one that is pushed later.
  void begin_at(StepIndex decode) { begin_ = std::max(begin_, decode); }
  // Drops all stops; epochs stay.
  void clear();

 private:
  struct Mark {
    std::uint32_t epoch = 0;
    std::uint32_t stops = 0;  // of this epoch, in the queue
  };
  struct Entry {
    Stop stop;
    std::uint32_t next = 0;  // in the same bucket
  };
  static constexpr StepCount kBuckets = 1024;
  static constexpr std::uint32_t kNoEntry = 0;
  static constexpr std::uint32_t kFar = UINT32_MAX;  // as first_: that on top of far_

  [[nodiscard]] static std::size_t bucket_of(StepIndex decode) {
    return static_cast<std::size_t>(decode) % kBuckets;
  }
  [[nodiscard]] const Stop& first() const {
    return first_ == kFar ? far_.front() : entries_[first_].stop;
  }
  [[nodiscard]] std::uint32_t take_spare() {
    if (spare_ == kNoEntry) {
      entries_.emplace_back();
      return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    const std::uint32_t entry = spare_;
    spare_ = entries_[entry].next;
    return entry;
  }
  void find_first();
  void take_first();
  void drop_void();

  std::vector<Mark> marks_;  // by RequestId
  std::size_t void_ = 0;     // stops of earlier epochs among `size_`
  StepIndex begin_ = 0;      // the ring's buckets are those of begin_, begin_ + 1, ...
  std::size_t size_ = 0;
  std::uint32_t first_ = kNoEntry;  // kNoEntry: not known, or none
  StepIndex first_decode_ = 0;      // of the first one, where it is known
  std::uint32_t spare_ = kNoEntry;
  std::vector<Entry> entries_{1};  // the first one is unused
  std::array<std::uint64_t, kBuckets / 64> filled_{};
  std::uint16_t words_ = 0;  // a bit for each of these that is not 0
  std::vector<std::uint32_t> buckets_ = std::vector<std::uint32_t>(kBuckets, kNoEntry);
  std::vector<Stop> far_;  // a binary min-heap
};

}  // namespace headroom
