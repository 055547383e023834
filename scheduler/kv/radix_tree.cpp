#include "scheduler/kv/radix_tree.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr std::size_t kFirstChildren = 64;  // a power of two

void drop_front(BlockRun& run, BlockCount blocks, std::int32_t block_tokens) {
  run.blocks -= blocks;
  if (run.offset != BlockRun::kAcross) run.offset += blocks * block_tokens;
}

}  // namespace

RadixTree::RadixTree(std::int32_t block_tokens)
    : block_tokens_(block_tokens), nodes_(1), runs_(1), table_(kFirstChildren) {}

// Blocks of `node` that the text goes on with. `rest` is left behind them.
BlockCount RadixTree::common(Index node, Rest& rest) const {
  BlockCount equal = 0;
  for (BlockRun run : runs_[node]) {
    while (run.blocks > 0) {
      if (!rest.any() || rest.run.key() != run.key()) return equal;
      const BlockCount part = std::min(run.blocks, rest.run.blocks);
      drop_front(run, part, block_tokens_);
      drop_front(rest.run, part, block_tokens_);
      equal += part;
    }
  }
  return equal;
}

RadixTree::Place RadixTree::descend(Rest& rest) {
  Place place;
  const std::int64_t now = ++clock_;
  while (rest.any()) {
    const Index next = child(place.node, rest.run.key());
    if (next == kRoot) break;
    nodes_[next].last_use = now;
    const BlockCount equal = common(next, rest);
    place.blocks += equal;
    if (equal < nodes_[next].blocks) {
      place.node = split(next, equal);
      break;
    }
    place.node = next;
  }
  return place;
}

RadixTree::Place RadixTree::find(RequestBlocks text) {
  Rest rest{text, {}};
  return descend(rest);
}

BlockCount RadixTree::peek(RequestBlocks text) const {
  Rest rest{text, {}};
  BlockCount blocks = 0;
  Index node = kRoot;
  while (rest.any()) {
    node = child(node, rest.run.key());
    if (node == kRoot) break;
    const BlockCount equal = common(node, rest);
    blocks += equal;
    if (equal < nodes_[node].blocks) break;
  }
  return blocks;
}

RadixTree::Place RadixTree::enter(RequestBlocks text) {
  Rest rest{text, {}};
  Place place = descend(rest);
  if (!rest.any()) return place;
  const Index leaf = add(place.node, rest.run.key());
  Node& node = nodes_[leaf];
  node.last_use = ++clock_;
  for (; rest.any(); rest.run.blocks = 0) {
    runs_[leaf].push_back(rest.run);
    node.blocks += rest.run.blocks;
  }
  evictable_ += node.blocks;
  place.node = leaf;
  return place;
}

void RadixTree::lock(Index node) {
  for (; node != kRoot; node = nodes_[node].parent) {
    Node& n = nodes_[node];
    if (n.locks++ > 0) {
      shared_ += n.blocks;
    } else {
      evictable_ -= n.blocks;
    }
  }
}

void RadixTree::unlock(Index node) {
  for (; node != kRoot; node = nodes_[node].parent) {
    Node& n = nodes_[node];
    HEADROOM_CHECK(n.locks > 0, "a path is given back that nobody has locked");
    if (--n.locks > 0) {
      shared_ -= n.blocks;
      continue;
    }
    evictable_ += n.blocks;
    note_leaf(node);
  }
}

BlockCount RadixTree::unlocked(Index node) const {
  BlockCount blocks = 0;
  for (; node != kRoot; node = nodes_[node].parent) {
    if (nodes_[node].locks == 0) blocks += nodes_[node].blocks;
  }
  return blocks;
}

BlockCount RadixTree::evict(BlockCount blocks) {
  BlockCount gone = 0;
  while (gone < blocks && (first_ < ordered_.size() || !others_.empty())) {
    const Candidate oldest = pop_candidate();
    Node& node = nodes_[oldest.node];
    node.is_candidate = false;
    if (node.last_use != oldest.last_use) {
      note_leaf(oldest.node);  // used since
    } else if (node.locks == 0 && node.children == 0) {
      gone += node.blocks;
      remove(oldest.node);
    }
  }
  return gone;
}

// The least recently used one, as far as its entry knows.
RadixTree::Candidate RadixTree::pop_candidate() {
  const bool in_order =
      first_ < ordered_.size() && (others_.empty() || !later(ordered_[first_], others_.front()));
  if (!in_order) {
    std::pop_heap(others_.begin(), others_.end(), later);
    const Candidate oldest = others_.back();
    others_.pop_back();
    return oldest;
  }
  const Candidate oldest = ordered_[first_++];
  if (2 * first_ > ordered_.size()) {
    ordered_.erase(ordered_.begin(), ordered_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  return oldest;
}

// A node that has become one that may be removed, perhaps: then it is a candidate.
void RadixTree::note_leaf(Index node) {
  Node& n = nodes_[node];
  if (n.is_candidate || node == kRoot || n.locks > 0 || n.children > 0) return;
  n.is_candidate = true;
  const Candidate candidate{n.last_use, node};
  if (ordered_.empty() || !later(ordered_.back(), candidate)) {
    ordered_.push_back(candidate);
    return;
  }
  others_.push_back(candidate);
  std::push_heap(others_.begin(), others_.end(), later);
}

RadixTree::Index RadixTree::add(Index parent, std::uint64_t key) {
  auto index = static_cast<Index>(nodes_.size());
  if (spare_.empty()) {
    nodes_.emplace_back();
    runs_.emplace_back();
  } else {
    index = spare_.back();
    spare_.pop_back();
    nodes_[index] = {};
    runs_[index].clear();
  }
  nodes_[index].parent = parent;
  nodes_[index].key = key;
  ++nodes_[parent].children;
  put(index);
  return index;
}

// Returns the new node: the first `upper` blocks. `node` keeps the others, so that whoever has
// locked it finds the end of its path there.
RadixTree::Index RadixTree::split(Index node, BlockCount upper) {
  take_out(node);
  const Index above = add(nodes_[node].parent, nodes_[node].key);
  Node& below = nodes_[node];
  --nodes_[below.parent].children;  // `above` took the place
  nodes_[above].last_use = ++clock_;
  nodes_[above].blocks = upper;
  nodes_[above].locks = below.locks;
  nodes_[above].children = 1;
  std::vector<BlockRun>& runs = runs_[node];
  std::size_t whole = 0;
  for (BlockCount left = upper; left > 0; ++whole) {
    BlockRun& run = runs[whole];
    runs_[above].push_back(run);
    if (run.blocks > left) {
      runs_[above].back().blocks = left;
      drop_front(run, left, block_tokens_);
      break;
    }
    left -= run.blocks;
  }
  runs.erase(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(whole));
  below.parent = above;
  below.blocks -= upper;
  below.key = runs.front().key();
  put(node);
  return above;
}

void RadixTree::remove(Index node) {
  const Index parent = nodes_[node].parent;
  take_out(node);
  evictable_ -= nodes_[node].blocks;
  spare_.push_back(node);
  --nodes_[parent].children;
  note_leaf(parent);
}

RadixTree::Index RadixTree::child(Index parent, std::uint64_t key) const {
  if (nodes_[parent].children == 0) return kRoot;
  const std::size_t mask = table_.size() - 1;
  for (std::size_t slot = hash_of(parent, key) & mask;; slot = (slot + 1) & mask) {
    const Index index = table_[slot];
    if (index == kRoot) return kRoot;
    if (nodes_[index].key == key && nodes_[index].parent == parent) return index;
  }
}

void RadixTree::put(Index node) {
  if (2 * (nodes_.size() - spare_.size()) > table_.size()) {
    const std::vector<Index> old = std::exchange(table_, std::vector<Index>(table_.size() * 2));
    for (const Index other : old) {
      if (other != kRoot) put(other);
    }
  }
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = hash_of(nodes_[node].parent, nodes_[node].key) & mask;
  while (table_[slot] != kRoot) slot = (slot + 1) & mask;
  table_[slot] = node;
}

// Closes the gap, so that every entry is still reached from its home without passing an empty slot.
void RadixTree::take_out(Index node) {
  const std::size_t mask = table_.size() - 1;
  std::size_t gap = hash_of(nodes_[node].parent, nodes_[node].key) & mask;
  while (table_[gap] != node) {
    HEADROOM_CHECK(table_[gap] != kRoot, "a node is not in the table");
    gap = (gap + 1) & mask;
  }
  for (std::size_t slot = (gap + 1) & mask; table_[slot] != kRoot; slot = (slot + 1) & mask) {
    const Node& other = nodes_[table_[slot]];
    const std::size_t from_home = (slot - hash_of(other.parent, other.key)) & mask;
    if (from_home < ((slot - gap) & mask)) continue;
    table_[gap] = table_[slot];
    gap = slot;
  }
  table_[gap] = kRoot;
}

}  // namespace headroom
