#include "sim/kernel/event_queue.hpp"

#include <algorithm>
#include <bit>

#include "sim/kernel/check.hpp"

namespace headroom {

EventQueue::EventQueue(std::uint32_t sources)
    : sources_(sources),
      leaves_(std::bit_ceil(std::max(2U, sources * kPriorityCount))),
      times_(leaves_, kNever),
      winners_(leaves_) {
  HEADROOM_CHECK(sources >= 1, "a queue without sources");
  for (std::uint32_t node = leaves_ - 1; node >= 1; --node) {
    winners_[node] = 2 * node >= leaves_ ? 2 * node - leaves_ : winners_[2 * node];
  }
}

std::uint32_t EventQueue::slot_of(Priority priority, std::uint32_t source) const {
  HEADROOM_CHECK(source < sources_, "event of an unknown source");
  return static_cast<std::uint32_t>(priority) * sources_ + source;
}

void EventQueue::set(std::uint32_t slot, TimeNs time_ns) {
  times_[slot] = time_ns;
  for (std::uint32_t node = (slot + leaves_) / 2; node >= 1; node /= 2) {
    const bool above_leaves = 2 * node >= leaves_;
    const std::uint32_t left = above_leaves ? 2 * node - leaves_ : winners_[2 * node];
    const std::uint32_t right = above_leaves ? left + 1 : winners_[2 * node + 1];
    // Slots are numbered by priority, then source, and left ones are smaller: ties go to the left.
    winners_[node] = times_[right] < times_[left] ? right : left;
  }
}

void EventQueue::schedule(TimeNs time_ns, Priority priority, std::uint32_t source) {
  HEADROOM_CHECK(time_ns < kNever, "an event at no time");
  set(slot_of(priority, source), time_ns);
}

void EventQueue::cancel(Priority priority, std::uint32_t source) {
  set(slot_of(priority, source), kNever);
}

std::optional<Event> EventQueue::pop() {
  const std::optional<Event> event = peek();
  if (event) set(winners_[1], kNever);
  return event;
}

}  // namespace headroom
