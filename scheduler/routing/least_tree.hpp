#pragma once
// The smallest of one key per replica, ties to the smallest number: a tournament tree. O(log n) for
// a change, O(1) to look, no allocation after `resize`.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/kernel/check.hpp"

namespace headroom {

template <typename Key>
class LeastTree {
 public:
  // `count` >= 1 entries, all of `key`.
  void resize(std::size_t count, Key key) {
    HEADROOM_CHECK(count >= 1, "a tree without entries");
    leaves_ = std::bit_ceil(count);
    keys_.assign(leaves_, key);
    count_ = static_cast<std::uint32_t>(count);
    winners_.assign(leaves_ * 2, 0);
    for (std::size_t i = 0; i < leaves_; ++i) {
      winners_[leaves_ + i] = static_cast<std::uint32_t>(i);
    }
    for (std::size_t node = leaves_ - 1; node >= 1; --node) winners_[node] = winner_of(node);
  }

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] const Key& key(std::uint32_t entry) const { return keys_[entry]; }
  [[nodiscard]] std::uint32_t least() const { return winners_[1]; }

  void set(std::uint32_t entry, Key key) {
    keys_[entry] = std::move(key);
    for (std::size_t node = (leaves_ + entry) / 2; node >= 1; node /= 2) {
      winners_[node] = winner_of(node);
    }
  }

 private:
  // Leaves behind the last entry never win: left ones are smaller, and ties go to the left.
  [[nodiscard]] std::uint32_t winner_of(std::size_t node) const {
    const std::uint32_t left = winners_[2 * node];
    const std::uint32_t right = winners_[2 * node + 1];
    if (right >= count_) return left;
    return keys_[right] < keys_[left] ? right : left;
  }

  std::size_t leaves_ = 0;
  std::uint32_t count_ = 0;
  std::vector<Key> keys_;
  std::vector<std::uint32_t> winners_;  // node k: entry of the least key below it; the root is 1
};

}  // namespace headroom
