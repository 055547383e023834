#pragma once
// Blocks with the same content as an older block (vLLM keeps every block of a hash): for a tree
// node of one block, which represents the oldest of them, the younger ones in order of age.
//
// Only the request that computed a copy holds it, until all older ones are overwritten. Then the
// copy becomes the node's own block, and only its record remains while it is on that request's
// path.

#include <cstdint>
#include <vector>

#include "scheduler/kv/free_list.hpp"

namespace headroom {

class BlockCopies {
 public:
  using Index = std::uint32_t;
  using Node = FreeList::Owner;
  static constexpr Index kNone = 0;

  struct Copy {
    Node node = 0;
    FreeList::Index extent = FreeList::kNoExtent;  // none: it is held
    Index above = kNone;                           // the one before it on the path of its holder
    bool is_first = false;                         // it has become the node's own block
  };

  // The youngest of `node`, held.
  [[nodiscard]] Index add(Node node, Index above);
  // Of `node`; kNone: it has no copy.
  [[nodiscard]] Index oldest(Node node) const {
    return node < oldest_.size() ? oldest_[node] : kNone;
  }
  [[nodiscard]] Copy& operator[](Index copy) { return copies_[copy]; }
  [[nodiscard]] const Copy& operator[](Index copy) const { return copies_[copy]; }
  // It is a copy of its node no longer; the record stays.
  void leave_node(Index copy);
  void remove_record(Index copy) { spare_.push_back(copy); }

 private:
  struct Neighbours {
    Index older = kNone;
    Index younger = kNone;
  };
  std::vector<Index> oldest_;  // by node
  std::vector<Copy> copies_ = std::vector<Copy>(1);
  std::vector<Neighbours> neighbours_ = std::vector<Neighbours>(1);  // in a ring
  std::vector<Index> spare_;
};

}  // namespace headroom
