#pragma once
// The pending events of a run in their total order: time, then priority, then source.
//
// A source has at most one pending event per priority, so these three decide everything; no counter
// is needed, and step ends that come or go leave the order of other events alone. A tournament tree
// over the (priority, source) pairs holds the times: O(log pairs) for a change, no allocation,
// nothing stale. Up to 16 pairs are looked through instead.

#include <cstdint>
#include <vector>

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
  void schedule(TimeNs time_ns, Priority priority, std::uint32_t source);
  void cancel(Priority priority, std::uint32_t source);

  // The earliest pending event, left in place or removed; its time is kNever when none is pending.
  // By value and without an optional around it: that fits in two registers.
  [[nodiscard]] Event next() const {
    const std::uint32_t slot = winners_[1];
    return {times_[slot], static_cast<Priority>(slot >> source_bits_),
            slot & ((1U << source_bits_) - 1)};
  }
  Event pop() {
    const Event event = next();
    if (event.time_ns != kNever) set(winners_[1], kNever);
    return event;
  }

 private:
  [[nodiscard]] std::uint32_t slot_of(Priority priority, std::uint32_t source) const;
  void set(std::uint32_t slot, TimeNs time_ns);
  void set_of_few(std::uint32_t slot, TimeNs time_ns);

  std::uint32_t sources_;
  int source_bits_;
  std::uint32_t leaves_;                // one for each slot
  std::vector<TimeNs> times_;           // by slot = priority, source in binary; kNever: not pending
  std::vector<std::uint32_t> winners_;  // node k: slot of the earliest event below it; root is 1
};

}  // namespace headroom
