#pragma once
// The least loaded of the replicas that are up, by whatever measure. Among equals the one that was
// chosen longest ago: an idle fleet is used in turn.

#include <compare>
#include <cstdint>
#include <limits>
#include <vector>

#include "scheduler/routing/least_tree.hpp"
#include "sim/serving/replica_load.hpp"

namespace headroom {

template <typename Measure>
class LeastLoaded {
 public:
  // The measure of replica `replica` is `value` now; its first call fixes how many there are.
  void set(std::uint32_t replica, std::size_t replicas, bool up, Measure value) {
    if (tree_.size() != replicas) {
      tree_.resize(replicas, Key{true, Measure{}, 0});
      turns_.assign(replicas, 0);
    }
    tree_.set(replica, Key{!up, value, turns_[replica]});
  }

  // One that is up, as long as there is such.
  [[nodiscard]] std::uint32_t least() const { return tree_.least(); }
  [[nodiscard]] Measure value(std::uint32_t replica) const { return tree_.key(replica).value; }

  // `replica` gets a request: it goes behind its equals.
  void choose(std::uint32_t replica) {
    Key key = tree_.key(replica);
    key.turn = turns_[replica] = ++turn_;
    tree_.set(replica, key);
  }

 private:
  struct Key {
    bool down = false;
    Measure value{};
    std::uint64_t turn = 0;
    friend constexpr bool operator<(const Key& a, const Key& b) {
      if (a.down != b.down) return b.down;
      if (a.value != b.value) return a.value < b.value;
      return a.turn < b.turn;
    }
  };

  LeastTree<Key> tree_;
  std::vector<std::uint64_t> turns_;  // when each was chosen last; 0: never
  std::uint64_t turn_ = 0;
};

}  // namespace headroom
