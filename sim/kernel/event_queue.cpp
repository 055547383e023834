#include "sim/kernel/event_queue.hpp"

#include <algorithm>
#include <bit>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

// Of up to four sources: it is quicker to look at all of them than to walk up a tree.
constexpr std::uint32_t kFewSlots = 16;

}  // namespace

EventQueue::EventQueue(std::uint32_t sources)
    : sources_(sources),
      source_bits_(static_cast<int>(std::bit_width(sources - 1))),
      leaves_(kPriorityCount << source_bits_),
      times_(leaves_, kNever),
      winners_(leaves_) {
  HEADROOM_CHECK(sources >= 1, "a queue without sources");
  for (std::uint32_t node = leaves_ - 1; node >= 1; --node) {
    winners_[node] = 2 * node >= leaves_ ? 2 * node - leaves_ : winners_[2 * node];
  }
}

std::uint32_t EventQueue::slot_of(Priority priority, std::uint32_t source) const {
  HEADROOM_CHECK(source < sources_, "event of an unknown source");
  return (static_cast<std::uint32_t>(priority) << source_bits_) | source;
}

// Only the root is kept. At one time the smaller slot is first, as in the tree.
void EventQueue::set_of_few(std::uint32_t slot, TimeNs time_ns) {
  const TimeNs before = times_[slot];
  times_[slot] = time_ns;
  std::uint32_t& first = winners_[1];
  if (slot != first) {
    const TimeNs first_ns = times_[first];
    if (time_ns < first_ns || (time_ns == first_ns && slot < first)) first = slot;
    return;
  }
  if (time_ns <= before) return;
  // Two searches side by side, over the even and the odd slots: half as long a chain of
  // comparisons.
  std::uint32_t best = 0;
  std::uint32_t odd = 1;
  TimeNs best_ns = times_[0];
  TimeNs odd_ns = times_[1];
  for (std::uint32_t i = 2; i < leaves_; i += 2) {
    const TimeNs even_slot_ns = times_[i];
    const TimeNs odd_slot_ns = times_[i + 1];
    best = even_slot_ns < best_ns ? i : best;
    odd = odd_slot_ns < odd_ns ? i + 1 : odd;
    best_ns = std::min(best_ns, even_slot_ns);
    odd_ns = std::min(odd_ns, odd_slot_ns);
  }
  if (odd_ns < best_ns || (odd_ns == best_ns && odd < best)) best = odd;
  first = best;
}

// A match whose winner neither was nor is this slot tells those above nothing new.
void EventQueue::set(std::uint32_t slot, TimeNs time_ns) {
  if (leaves_ <= kFewSlots) return set_of_few(slot, time_ns);
  times_[slot] = time_ns;
  std::uint32_t node = (slot + leaves_) / 2;
  // Slots are numbered by priority, then source, and left ones are smaller: ties go to the left.
  const std::uint32_t left = slot & ~1U;
  std::uint32_t winner = times_[left + 1] < times_[left] ? left + 1 : left;
  while (true) {
    const std::uint32_t before = winners_[node];
    winners_[node] = winner;
    if (node == 1 || (before == winner && winner != slot)) return;
    const std::uint32_t other = winners_[node ^ 1];
    const bool other_is_left = (node & 1) != 0;
    const bool other_wins =
        other_is_left ? times_[other] <= times_[winner] : times_[other] < times_[winner];
    if (other_wins) winner = other;
    node /= 2;
  }
}

void EventQueue::schedule(TimeNs time_ns, Priority priority, std::uint32_t source) {
  HEADROOM_CHECK(time_ns < kNever, "an event at no time");
  set(slot_of(priority, source), time_ns);
}

void EventQueue::cancel(Priority priority, std::uint32_t source) {
  set(slot_of(priority, source), kNever);
}

}  // namespace headroom
