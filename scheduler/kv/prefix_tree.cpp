#include "scheduler/kv/prefix_tree.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr std::size_t kFirstTableSize = 64;  // a power of two

std::uint32_t hash_of(PrefixTree::Index parent, std::uint64_t key) {
  return static_cast<std::uint32_t>(mixed_id(parent, key));
}

}  // namespace

PrefixTree::PrefixTree(std::int32_t block_tokens)
    : block_tokens_(block_tokens), nodes_(1), table_(kFirstTableSize) {}

void PrefixTree::match(RequestBlocks blocks, Match& result) const {
  result.nodes.clear();
  result.blocks = 0;
  Index at = kRoot;
  BlockRun run;
  while (blocks.next(run)) {
    while (run.blocks > 0) {
      at = child(at, run.key());
      if (at == kRoot) return;
      const BlockCount common = std::min(run.blocks, nodes_[at].run.blocks);
      result.nodes.push_back(at);
      result.blocks += common;
      // The run ends inside the node: what follows in the request is not what follows in the tree.
      if (common < nodes_[at].run.blocks) return;
      run.blocks -= common;
      run.offset += common * block_tokens_;
    }
  }
}

BlockCount PrefixTree::free_blocks(const Match& match, BlockCount blocks) const {
  BlockCount free = 0;
  for (const Index index : match.nodes) {
    const Node& node = nodes_[index];
    const BlockCount used = std::min(blocks, node.run.blocks);
    if (node.refs == 0) free += used;
    blocks -= used;
  }
  return free;
}

PrefixTree::Index PrefixTree::hold(const Match& match, BlockCount blocks, FreeList& free) {
  HEADROOM_CHECK(blocks <= match.blocks, "more blocks held than were found");
  Index deepest = kRoot;
  for (Index index : match.nodes) {
    if (blocks == 0) break;
    if (blocks < nodes_[index].run.blocks) index = split(index, blocks, free);
    Node& node = nodes_[index];
    blocks -= node.run.blocks;
    if (node.refs++ == 0) {
      free.take_owned(node.extent);
      node.extent = FreeList::kNoExtent;
    } else {
      shared_blocks_ += node.run.blocks;
    }
    deepest = index;
  }
  ++version_;
  return deepest;
}

PrefixTree::Extension PrefixTree::extend(Index deepest, RequestBlocks blocks, bool private_too) {
  Extension result{.deepest = deepest};
  BlockRun run;
  while (blocks.next(run) && (private_too || !run.is_private)) {
    if (continues(result.deepest, run)) {
      nodes_[result.deepest].run.blocks += run.blocks;
    } else if (child(result.deepest, run.key()) != kRoot) {
      result.met_a_copy = true;
      break;
    } else {
      result.deepest = add(result.deepest, run);
    }
    result.blocks += run.blocks;
  }
  if (result.blocks > 0) ++version_;
  return result;
}

void PrefixTree::release(Index deepest, bool forget_private, FreeList& free) {
  if (deepest != kRoot) ++version_;
  for (Index index = deepest; index != kRoot;) {
    Node& node = nodes_[index];
    const Index parent = node.parent;
    HEADROOM_CHECK(node.refs > 0 && (parent == kRoot || nodes_[parent].refs >= node.refs),
                   "a path was released that is not held");
    if (--node.refs > 0) {
      shared_blocks_ -= node.run.blocks;
    } else if (node.run.is_private && forget_private) {
      free.put_hashed(node.run.blocks);
      remove(index);
    } else {
      node.extent = free.put_owned(node.run.blocks, index);
    }
    index = parent;
  }
}

void PrefixTree::evict(Index index, BlockCount blocks) {
  Node& node = nodes_[index];
  HEADROOM_CHECK(node.refs == 0 && node.children == 0 && blocks <= node.run.blocks,
                 "a chain of blocks is overwritten from its end");
  ++version_;
  node.run.blocks -= blocks;
  if (node.run.blocks == 0) remove(index);
}

void PrefixTree::forget_private(const Match& match, FreeList& free) {
  for (std::size_t i = match.nodes.size(); i-- > 0;) {
    const Index index = match.nodes[i];
    Node& node = nodes_[index];
    if (!node.run.is_private) return;
    HEADROOM_CHECK(node.refs == 0, "a waiting request holds blocks");
    ++version_;
    free.disown(node.extent);
    remove(index);
  }
}

// The run goes on where the node ends, and only one holder, whose path ends there, would notice.
bool PrefixTree::continues(Index index, const BlockRun& run) const {
  const Node& node = nodes_[index];
  return index != kRoot && node.refs == 1 && node.children == 0 &&
         goes_on(node.run, run, block_tokens_);
}

StoredRun PrefixTree::end_of(Index index, BlockCount blocks) const {
  const Node& node = nodes_[index];
  StoredRun run = stored_run(node.chain, node.run, block_tokens_);
  run.first += run.blocks - blocks;
  run.blocks = blocks;
  return run;
}

ChainId PrefixTree::chain_at_end(const Match& match, const BlockRun& next) const {
  if (match.nodes.empty()) return chain_after(kRoot, 0, next);
  BlockCount before = 0;
  for (std::size_t i = 0; i + 1 < match.nodes.size(); ++i)
    before += nodes_[match.nodes[i]].run.blocks;
  return chain_after(match.nodes.back(), match.blocks - before, next);
}

// The chain before the piece of `next`, which follows the first `blocks` of a node.
ChainId PrefixTree::chain_after(Index index, BlockCount blocks, const BlockRun& next) const {
  if (index == kRoot) return 0;
  const Node& node = nodes_[index];
  BlockRun run = node.run;
  run.blocks = blocks;
  return goes_on(run, next, block_tokens_) ? node.chain
                                           : chain_behind(node.chain, run, block_tokens_);
}

// A node with one holder.
PrefixTree::Index PrefixTree::add(Index parent, const BlockRun& run) {
  auto index = static_cast<Index>(nodes_.size());
  if (spare_.empty()) {
    nodes_.emplace_back();
  } else {
    index = spare_.back();
    spare_.pop_back();
  }
  const ChainId chain = chain_after(parent, nodes_[parent].run.blocks, run);
  nodes_[index] = {.parent = parent, .key = run.key(), .run = run, .chain = chain, .refs = 1};
  ++nodes_[parent].children;
  enter(index);
  return index;
}

void PrefixTree::remove(Index index) {
  HEADROOM_CHECK(nodes_[index].children == 0 && nodes_[index].refs == 0,
                 "a node is removed after those behind it");
  leave(index);
  --nodes_[nodes_[index].parent].children;
  spare_.push_back(index);
}

// Returns the new node: the first `upper` blocks. `index` keeps the others.
PrefixTree::Index PrefixTree::split(Index index, BlockCount upper, FreeList& free) {
  leave(index);
  BlockRun run = nodes_[index].run;
  run.blocks = upper;
  const Index above = add(nodes_[index].parent, run);
  Node& node = nodes_[index];
  --nodes_[node.parent].children;  // `above` took the place
  nodes_[above].refs = node.refs;
  nodes_[above].children = 1;
  if (node.refs == 0) nodes_[above].extent = free.split(node.extent, upper, above);
  node.parent = above;
  node.run.blocks -= upper;
  node.run.offset += upper * block_tokens_;
  node.key = node.run.key();
  enter(index);
  ++version_;
  return above;
}

PrefixTree::Index PrefixTree::child(Index parent, std::uint64_t key) const {
  if (nodes_[parent].children == 0) return kRoot;
  const std::size_t mask = table_.size() - 1;
  const std::uint32_t hash = hash_of(parent, key);
  for (std::size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    const Entry& entry = table_[slot];
    if (entry.node == kRoot) return kRoot;
    if (entry.hash != hash) continue;
    const Node& node = nodes_[entry.node];
    if (node.key == key && node.parent == parent) return entry.node;
  }
}

void PrefixTree::enter(Index index) {
  if (2 * (entries_ + 1) > table_.size()) enlarge();
  enter(hash_of(nodes_[index].parent, nodes_[index].key), index);
  ++entries_;
}

void PrefixTree::enter(std::uint32_t hash, Index index) {
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = hash & mask;
  while (table_[slot].node != kRoot) slot = (slot + 1) & mask;
  table_[slot] = {hash, index};
}

// Closes the gap, so that every entry is still reached from its home without passing an empty slot.
void PrefixTree::leave(Index index) {
  const std::size_t mask = table_.size() - 1;
  std::size_t gap = hash_of(nodes_[index].parent, nodes_[index].key) & mask;
  while (table_[gap].node != index) {
    HEADROOM_CHECK(table_[gap].node != kRoot, "a node is not in the table");
    gap = (gap + 1) & mask;
  }
  for (std::size_t slot = (gap + 1) & mask; table_[slot].node != kRoot; slot = (slot + 1) & mask) {
    const std::size_t distance_home = (slot - table_[slot].hash) & mask;
    if (distance_home < ((slot - gap) & mask)) continue;
    table_[gap] = table_[slot];
    gap = slot;
  }
  table_[gap] = {};
  --entries_;
}

void PrefixTree::enlarge() {
  const std::vector<Entry> old = std::move(table_);
  table_ = std::vector<Entry>(old.size() * 2);
  for (const Entry& entry : old) {
    if (entry.node != kRoot) enter(entry.hash, entry.node);
  }
}

}  // namespace headroom
