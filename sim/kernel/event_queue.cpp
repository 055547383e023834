#include "sim/kernel/event_queue.hpp"

#include <bit>

namespace headroom {

EventQueue::EventQueue(std::uint32_t sources)
    : sources_(sources),
      source_bits_(static_cast<int>(std::bit_width(sources - 1))),
      leaves_(kPriorityCount << source_bits_),
      is_small_(sources <= 4) {
  HEADROOM_CHECK(sources >= 1, "a queue without sources");
  if (is_small_) {
    places_.assign(leaves_, kNoPlace);
    make_place(0);
    return;
  }
  times_.assign(leaves_, kNever);
  winners_.resize(leaves_);
  for (std::uint32_t node = leaves_ - 1; node >= 1; --node) {
    winners_[node] = 2 * node >= leaves_ ? 2 * node - leaves_ : winners_[2 * node];
  }
}

void EventQueue::make_place(std::uint32_t slot) {
  const auto at = std::lower_bound(slots_.begin(), slots_.end(), slot);
  times_.insert(times_.begin() + (at - slots_.begin()), kNever);
  slots_.insert(at, slot);
  for (std::uint32_t place = 0; place < slots_.size(); ++place) places_[slots_[place]] = place;
}

// A match whose winner neither was nor is this slot tells those above nothing new.
void EventQueue::set_in_tree(std::uint32_t slot, TimeNs time_ns) {
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

}  // namespace headroom
