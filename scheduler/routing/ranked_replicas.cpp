#include "scheduler/routing/ranked_replicas.hpp"

#include <tuple>

#include "sim/kernel/check.hpp"
#include "sim/serving/prefix.hpp"

namespace headroom {

RankedReplicas::RankedReplicas(std::size_t replicas) : nodes_(replicas) {
  for (std::size_t i = 0; i < replicas; ++i) nodes_[i].rank = mixed_id(1, i);
}

bool RankedReplicas::before(std::uint32_t a, std::uint32_t b) const {
  return std::tie(nodes_[a].entry.key, a) < std::tie(nodes_[b].entry.key, b);
}

std::uint32_t RankedReplicas::greater_of(std::uint32_t a, std::uint32_t b) const {
  if (a == kNone || b == kNone) return a == kNone ? b : a;
  const std::int64_t x = nodes_[a].entry.score;
  const std::int64_t y = nodes_[b].entry.score;
  return x > y || (x == y && a < b) ? a : b;
}

std::uint32_t RankedReplicas::lesser_of(std::uint32_t a, std::uint32_t b) const {
  if (a == kNone || b == kNone) return a == kNone ? b : a;
  const Entry& x = nodes_[a].entry;
  const Entry& y = nodes_[b].entry;
  return std::tie(x.score, x.turn, a) < std::tie(y.score, y.turn, b) ? a : b;
}

void RankedReplicas::sum_up(std::uint32_t number) {
  Node& node = nodes_[number];
  node.greatest = node.least = number;
  for (const std::uint32_t child : {node.left, node.right}) {
    if (child == kNone) continue;
    node.greatest = greater_of(node.greatest, nodes_[child].greatest);
    node.least = lesser_of(node.least, nodes_[child].least);
  }
}

void RankedReplicas::split(std::uint32_t tree, std::uint32_t node, std::uint32_t& left,
                           std::uint32_t& right) {
  if (tree == kNone) {
    left = right = kNone;
    return;
  }
  if (before(tree, node)) {
    left = tree;
    split(nodes_[tree].right, node, nodes_[tree].right, right);
  } else {
    right = tree;
    split(nodes_[tree].left, node, left, nodes_[tree].left);
  }
  sum_up(tree);
}

std::uint32_t RankedReplicas::joined(std::uint32_t left, std::uint32_t right) {
  if (left == kNone || right == kNone) return left == kNone ? right : left;
  if (nodes_[left].rank >= nodes_[right].rank) {
    nodes_[left].right = joined(nodes_[left].right, right);
    sum_up(left);
    return left;
  }
  nodes_[right].left = joined(left, nodes_[right].left);
  sum_up(right);
  return right;
}

std::uint32_t RankedReplicas::inserted(std::uint32_t tree, std::uint32_t node) {
  if (tree == kNone || nodes_[node].rank > nodes_[tree].rank) {
    split(tree, node, nodes_[node].left, nodes_[node].right);
    sum_up(node);
    return node;
  }
  std::uint32_t Node::*side = before(node, tree) ? &Node::left : &Node::right;
  nodes_[tree].*side = inserted(nodes_[tree].*side, node);
  sum_up(tree);
  return tree;
}

std::uint32_t RankedReplicas::erased(std::uint32_t tree, std::uint32_t node) {
  HEADROOM_CHECK(tree != kNone, "a replica that is not where its key says");
  if (tree == node) return joined(nodes_[node].left, nodes_[node].right);
  std::uint32_t Node::*side = before(node, tree) ? &Node::left : &Node::right;
  nodes_[tree].*side = erased(nodes_[tree].*side, node);
  sum_up(tree);
  return tree;
}

void RankedReplicas::set(std::uint32_t replica, const Entry& entry) {
  erase(replica);
  nodes_[replica].entry = entry;
  nodes_[replica].is_in = true;
  root_ = inserted(root_, replica);
}

void RankedReplicas::erase(std::uint32_t replica) {
  Node& node = nodes_[replica];
  if (!node.is_in) return;
  root_ = erased(root_, replica);
  node.is_in = false;
  node.left = node.right = kNone;
}

// Down to where the limit lies; on the way whole trees of the wanted side are passed by.
template <typename Better>
std::optional<std::uint32_t> RankedReplicas::best(Side side, TimeNs limit,
                                                  std::uint32_t Node::*extreme,
                                                  const Better& better) const {
  std::uint32_t found = kNone;
  for (std::uint32_t at = root_; at != kNone;) {
    const Node& node = nodes_[at];
    const bool wanted = (node.entry.key <= limit) == (side == Side::up_to);
    const bool wants_left = side == Side::up_to;
    if (wanted) {
      found = better(found, at);
      const std::uint32_t whole = wants_left ? node.left : node.right;
      if (whole != kNone) found = better(found, nodes_[whole].*extreme);
    }
    at = wanted == wants_left ? node.right : node.left;
  }
  if (found == kNone) return std::nullopt;
  return found;
}

std::optional<std::uint32_t> RankedReplicas::greatest(Side side, TimeNs limit) const {
  return best(side, limit, &Node::greatest,
              [this](std::uint32_t a, std::uint32_t b) { return greater_of(a, b); });
}

std::optional<std::uint32_t> RankedReplicas::least(Side side, TimeNs limit) const {
  return best(side, limit, &Node::least,
              [this](std::uint32_t a, std::uint32_t b) { return lesser_of(a, b); });
}

}  // namespace headroom
