#pragma once
// Replicas in order of a key, with the greatest and the least score of all whose keys lie on one
// side of a limit: a treap over their numbers. O(log n) expected for a change and a question; its
// shape depends on the numbers alone, so that the same content is always the same tree.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/kernel/time.hpp"

namespace headroom {

class RankedReplicas {
 public:
  struct Entry {
    TimeNs key = 0;
    std::int64_t score = 0;
    std::uint64_t turn = 0;  // when it was chosen last
  };

  explicit RankedReplicas(std::size_t replicas);

  // Puts `replica` in, or moves it.
  void set(std::uint32_t replica, const Entry& entry);
  // Nothing happens if it is not in.
  void erase(std::uint32_t replica);
  [[nodiscard]] const Entry& entry(std::uint32_t replica) const { return nodes_[replica].entry; }

  enum class Side : std::uint8_t { up_to, beyond };  // keys <= limit, or > limit
  // The greatest score of that side, of equals the lowest number. Empty: no replica is available.
  [[nodiscard]] std::optional<std::uint32_t> greatest(Side side, TimeNs limit) const;
  // The least score, of equals the one that was chosen longest ago, then the lowest number.
  [[nodiscard]] std::optional<std::uint32_t> least(Side side, TimeNs limit) const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Node {
    Entry entry;
    std::uint64_t rank = 0;  // a heap: no child's is greater
    std::uint32_t left = kNone;
    std::uint32_t right = kNone;
    std::uint32_t greatest = kNone;  // of the tree below it, itself included
    std::uint32_t least = kNone;
    bool is_in = false;
  };

  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] std::uint32_t greater_of(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] std::uint32_t lesser_of(std::uint32_t a, std::uint32_t b) const;
  void sum_up(std::uint32_t node);
  [[nodiscard]] std::uint32_t inserted(std::uint32_t tree, std::uint32_t node);
  [[nodiscard]] std::uint32_t erased(std::uint32_t tree, std::uint32_t node);
  [[nodiscard]] std::uint32_t joined(std::uint32_t left, std::uint32_t right);
  // Those before `node` and those after it.
  void split(std::uint32_t tree, std::uint32_t node, std::uint32_t& left, std::uint32_t& right);
  template <typename Better>
  [[nodiscard]] std::optional<std::uint32_t> best(Side side, TimeNs limit,
                                                  std::uint32_t Node::*extreme,
                                                  const Better& better) const;

  std::vector<Node> nodes_;  // by replica
  std::uint32_t root_ = kNone;
};

}  // namespace headroom
