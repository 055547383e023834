#pragma once
// The pending events of a run in their total order: time, then priority, then source.
//
// A source has at most one pending event per priority, so these three define the order. No counter
// is needed, and step ends that come or go do not change the order of other events. A tournament
// tree over the (priority, source) pairs holds the times: O(log pairs) for a change, no allocation,
// nothing stale. With up to four sources, a query for the first event scans all pairs ever
// scheduled instead.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {

// At one nanosecond: steps end, requests arrive, clients give up; then plans are made and see all.
enum class Priority : std::uint8_t { step_end = 0, arrival = 1, cancel = 2, plan = 3 };
inline constexpr std::uint32_t kPriorityCount = 4;

struct Event {
  TimeNs time_ns = 0;
  Priority priority = Priority::step_end;
  std::uint32_t source = 0;

  friend constexpr bool operator==(const Event&, const Event&) = default;
};

class EventQueue {
 public:
  // Sources are numbered 0 .. sources-1; at least one.
  explicit EventQueue(std::uint32_t sources);

  // Replaces the pending event of (source, priority), if any. time_ns < kNever.
  void schedule(TimeNs time_ns, Priority priority, std::uint32_t source) {
    HEADROOM_CHECK(time_ns < kNever, "an event at no time");
    set(slot_of(priority, source), time_ns);
  }
  void cancel(Priority priority, std::uint32_t source) { set(slot_of(priority, source), kNever); }

  // The earliest pending event, left in place or removed; its time is kNever when none is pending.
  // By value and without an optional around it: that fits in two registers.
  [[nodiscard]] Event next() const {
    const std::uint32_t place = is_small_ ? first_of_few() : winners_[1];
    return event_of(is_small_ ? slots_[place] : place, times_[place]);
  }
  [[nodiscard]] TimeNs next_ns() const { return times_[is_small_ ? first_of_few() : winners_[1]]; }
  Event pop() {
    if (!is_small_) {
      const Event event = next();
      if (event.time_ns != kNever) cancel(event.priority, event.source);
      return event;
    }
    const std::uint32_t place = first_of_few();
    const Event event = event_of(slots_[place], times_[place]);
    times_[place] = kNever;
    return event;
  }

 private:
  [[nodiscard]] std::uint32_t slot_of(Priority priority, std::uint32_t source) const {
    HEADROOM_CHECK(source < sources_, "event of an unknown source");
    return (static_cast<std::uint32_t>(priority) << source_bits_) | source;
  }
  [[nodiscard]] Event event_of(std::uint32_t slot, TimeNs time_ns) const {
    return {time_ns, static_cast<Priority>(slot >> source_bits_),
            slot & ((1U << source_bits_) - 1)};
  }
  void set(std::uint32_t slot, TimeNs time_ns) {
    if (!is_small_) return set_in_tree(slot, time_ns);
    if (places_[slot] == kNoPlace) make_place(slot);
    times_[places_[slot]] = time_ns;
  }
  void set_in_tree(std::uint32_t slot, TimeNs time_ns);
  void make_place(std::uint32_t slot);
  // At one time the smaller slot is first, as in the tree.
  [[nodiscard]] std::uint32_t first_of_few() const {
    std::uint32_t first = 0;
    TimeNs first_ns = times_[0];
    for (std::uint32_t place = 1; place < times_.size(); ++place) {
      const TimeNs time_ns = times_[place];
      first = time_ns < first_ns ? place : first;
      first_ns = std::min(first_ns, time_ns);
    }
    return first;
  }

  static constexpr std::uint32_t kNoPlace = UINT32_MAX;

  // A slot is a pair of priority and source, in binary.
  std::uint32_t sources_;
  int source_bits_;
  std::uint32_t leaves_;  // as many slots
  bool is_small_;
  std::vector<TimeNs> times_;           // by slot, of a small queue by place; kNever: not pending
  std::vector<std::uint32_t> winners_;  // node k: slot of the earliest event below it; root is 1
  // Of a small queue: the slots that were ever used, in order, and their places among them.
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint32_t> places_;
};

}  // namespace headroom
