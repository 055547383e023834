#include "scheduler/kv/prefix_tree.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"

namespace headroom {
namespace {

constexpr std::size_t kFirstTableSize = 64;                  // a power of two
constexpr std::uint64_t kTipTag = 0x7469705F5F5F5F5F;        // "tip_____"
constexpr std::uint64_t kBeginningTag = 0x626567696E5F5F5F;  // "begin___"

// Names what a block behind `parent` begins with: whole parts, then the start of one more. Calls
// visit(name) for each of `parts`.
template <class Visit>
void visit_beginnings(PrefixTree::Index parent, std::span<const TextPart> parts,
                      const Visit& visit) {
  std::uint64_t before = mixed_id(kBeginningTag, parent);
  for (const TextPart& part : parts) {
    before = mixed_id(before, part.piece);
    before = mixed_id(before, static_cast<std::uint64_t>(part.offset));
    visit(before);
    before = mixed_id(before, static_cast<std::uint64_t>(part.tokens));
  }
}

TokenCount equal_tokens(std::span<const TextPart> a, std::span<const TextPart> b) {
  TokenCount tokens = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].piece != b[i].piece || a[i].offset != b[i].offset) break;
    tokens += std::min(a[i].tokens, b[i].tokens);
    if (a[i].tokens != b[i].tokens) break;
  }
  return tokens;
}

// Prefetches from memory during other work, because a large tree is spread all over it.
template <class T>
void ask_for(const T& place) {
  __builtin_prefetch(&place);
}

std::uint32_t hash_of(PrefixTree::Index parent, std::uint64_t key) {
  return static_cast<std::uint32_t>(mixed_id(parent, key));
}

}  // namespace

PrefixTree::PrefixTree(std::int32_t block_tokens, const Options& options)
    : block_tokens_(block_tokens),
      options_(options),
      nodes_(1),
      chains_(options.keeps_chains ? 1 : 0),
      parts_(options.partial_reuse ? 1 : 0),
      table_(kFirstTableSize) {}

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

PrefixTree::Path PrefixTree::hold(const Match& match, BlockCount blocks, FreeList& free) {
  HEADROOM_CHECK(blocks <= match.blocks, "more blocks held than were found");
  Path path{.blocks = blocks};
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
    path.deepest = index;
  }
  ++version_;
  return path;
}

void PrefixTree::extend(Path& path, RequestBlocks blocks, bool private_too, FreeList& free) {
  BlockRun run;
  while (blocks.next(run) && (private_too || !run.is_private)) {
    ++version_;
    path.blocks += run.blocks;
    while (run.blocks > 0) {
      if (continues(path.deepest, run)) {
        nodes_[path.deepest].run.blocks += run.blocks;
        break;
      }
      const Index known = child(path.deepest, run.key());
      if (known == kRoot) {
        path.deepest = add(path.deepest, run);
        if (options_.partial_reuse && run.offset == BlockRun::kAcross) {
          blocks.public_parts_of_last(parts_[path.deepest]);
          find_by_beginnings(path.deepest);
        }
        break;
      }
      path.deepest = copy(known, path, free);
      run.offset += block_tokens_;
      --run.blocks;
    }
  }
}

// The holder of `path` has a copy of the first block of the node after it. Returns that block's
// node.
[[gnu::noinline]] PrefixTree::Index PrefixTree::copy(Index known, Path& path, FreeList& free) {
  const Index index = nodes_[known].run.blocks > 1 ? split(known, 1, free) : known;
  path.copies = copies_.add(index, path.copies);
  if (options_.partial_reuse) find_by_beginnings(index);
  return index;
}

void PrefixTree::release(const Path& path, bool forget_private, FreeList& free) {
  if (path.deepest != kRoot) ++version_;
  BlockCopies::Index copies = path.copies;
  for (Index index = path.deepest; index != kRoot;) {
    Node& node = nodes_[index];
    const Index parent = node.parent;
    if (mostly(copies == BlockCopies::kNone) || !let_go_of_copy(copies, index, free)) {
      HEADROOM_CHECK(node.refs > 0 && (parent == kRoot || nodes_[parent].refs >= node.refs ||
                                       has_copies(parent)),
                     "a path was released that is not held");
      if (--node.refs > 0) {
        shared_blocks_ -= node.run.blocks;
      } else {
        node.extent = free.put_owned(node.run.blocks, index);
        if (options_.partial_reuse) find_by_beginnings(index);
      }
    }
    const bool forgets = node.run.is_private && forget_private && parts_of(index).empty();
    if (rarely(forgets) && node.refs == 0) forget(index, free);
    index = parent;
  }
}

// False: of this node the holder whose last copy is `copies` has the node's own block.
[[gnu::noinline]] bool PrefixTree::let_go_of_copy(BlockCopies::Index& copies, Index index,
                                                  FreeList& free) {
  if (copies_[copies].node != index) return false;
  const BlockCopies::Index mine = copies;
  BlockCopies::Copy& copy = copies_[mine];
  copies = copy.above;
  if (copy.is_first) {
    copies_.remove_record(mine);
    return false;
  }
  copy.extent = free.put_owned(1, mine | kCopyBit);
  if (options_.partial_reuse) find_by_beginnings(index);
  return true;
}

void PrefixTree::evict(Index owner, BlockCount blocks, FreeList& free) {
  ++version_;
  if ((owner & kCopyBit) != 0) {
    copies_.leave_node(owner & ~kCopyBit);
    copies_.remove_record(owner & ~kCopyBit);
    return;
  }
  Node& node = nodes_[owner];
  HEADROOM_CHECK(node.refs == 0 && blocks <= node.run.blocks, "a held block is overwritten");
  if (rarely(has_copies(owner))) return succeed(owner, free);
  HEADROOM_CHECK(node.children == 0, "a chain of blocks is overwritten from its end");
  node.run.blocks -= blocks;
  if (node.run.blocks == 0) remove(owner);
}

// The oldest copy becomes the node's own block.
[[gnu::noinline]] void PrefixTree::succeed(Index index, FreeList& free) {
  const BlockCopies::Index oldest = copies_.oldest(index);
  BlockCopies::Copy& copy = copies_[oldest];
  copies_.leave_node(oldest);
  Node& node = nodes_[index];
  node.extent = copy.extent;
  if (copy.extent == FreeList::kNoExtent) {
    node.refs = 1;
    copy.is_first = true;
  } else {
    free.give(copy.extent, index);
    copies_.remove_record(oldest);
  }
}

void PrefixTree::forget_private(const Match& match, FreeList& free) {
  for (std::size_t i = match.nodes.size(); i-- > 0;) {
    const Index index = match.nodes[i];
    const Node& node = nodes_[index];
    if (!node.run.is_private || node.refs > 0 || !parts_of(index).empty()) return;
    ++version_;
    forget(index, free);
  }
}

// It has no holder.
[[gnu::noinline]] void PrefixTree::forget(Index index, FreeList& free) {
  for (auto copy = copies_.oldest(index); copy != BlockCopies::kNone;
       copy = copies_.oldest(index)) {
    free.disown(copies_[copy].extent);
    copies_.leave_node(copy);
    copies_.remove_record(copy);
  }
  free.disown(nodes_[index].extent);
  remove(index);
}

void PrefixTree::put_tip(Index deepest, std::span<const TextPart> parts, FreeList& free) {
  HEADROOM_CHECK(options_.partial_reuse, "a tip where beginnings are not looked for");
  ++version_;
  const BlockRun run{.piece = mixed_id(kTipTag, tips_++),
                     .offset = BlockRun::kAcross,
                     .blocks = 1,
                     .is_private = true};
  const Index index = add(deepest, run);
  Node& node = nodes_[index];
  node.refs = 0;
  node.extent = free.put_owned(1, index);
  node.is_tip = true;
  parts_[index].assign(parts.begin(), parts.end());
  find_by_beginnings(index);
}

PrefixTree::Partial PrefixTree::partial(const Match& match,
                                        std::span<const TextPart> wanted) const {
  Partial best;
  if (wanted.empty()) return best;
  const Index at = match.nodes.empty() ? kRoot : match.nodes.back();
  BlockCount last = match.blocks;  // of the last node of the match
  for (const Index index : match.nodes) {
    if (index != at) last -= nodes_[index].run.blocks;
  }
  const bool inside = at != kRoot && last < nodes_[at].run.blocks;
  const BlockRun first{.piece = wanted[0].piece, .offset = wanted[0].offset, .blocks = 1};
  BlockRun matched = nodes_[at].run;
  matched.blocks = last;
  if (inside && !goes_on(matched, first, block_tokens_)) return best;
  // The block of one piece that starts like this, in the node or after it.
  if (const Index index = inside ? at : child(at, first.key()); index != kRoot) {
    const Node& node = nodes_[index];
    const bool is_last = node.run.blocks == (inside ? last : 0) + 1;
    best = {index, wanted[0].tokens, node.refs == 0 && node.children == 0 && is_last};
  }
  if (inside) return best;
  visit_beginnings(at, wanted, [&](std::uint64_t name) {
    const auto found = beginnings_.find(name);
    if (found == beginnings_.end()) return;
    const Node& node = nodes_[found->second];
    const TokenCount tokens = equal_tokens(wanted, parts_of(found->second));
    if (tokens > best.tokens) {
      best = {found->second, tokens, node.refs == 0 && node.children == 0};
    }
  });
  return best;
}

void PrefixTree::steal(Index leaf, FreeList& free) {
  free.take_owned(nodes_[leaf].extent);
  evict(leaf, 1, free);
}

void PrefixTree::find_by_beginnings(Index index) {
  visit_beginnings(nodes_[index].parent, parts_[index],
                   [&](std::uint64_t name) { beginnings_[name] = index; });
}

void PrefixTree::forget_beginnings(Index index) {
  visit_beginnings(nodes_[index].parent, parts_[index], [&](std::uint64_t name) {
    const auto found = beginnings_.find(name);
    if (found != beginnings_.end() && found->second == index) beginnings_.erase(found);
  });
  parts_[index].clear();
}

// The run continues where the node ends, and only one holder, whose path ends there, is affected.
bool PrefixTree::continues(Index index, const BlockRun& run) const {
  const Node& node = nodes_[index];
  return index != kRoot && node.refs == 1 && node.children == 0 && !has_copies(index) &&
         goes_on(node.run, run, block_tokens_);
}

StoredBlocks PrefixTree::end_of(Index owner, BlockCount blocks) const {
  const Index index = node_of(owner);
  StoredBlocks run = stored_run(chains_[index], nodes_[index].run, block_tokens_);
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
  BlockRun run = nodes_[index].run;
  run.blocks = blocks;
  return goes_on(run, next, block_tokens_) ? chains_[index]
                                           : chain_behind(chains_[index], run, block_tokens_);
}

// A node with one holder.
PrefixTree::Index PrefixTree::add(Index parent, const BlockRun& run) {
  make_room_in_table();
  const std::uint64_t key = run.key();
  const std::uint32_t hash = hash_of(parent, key);
  ask_for(table_[hash & (table_.size() - 1)]);
  auto index = static_cast<Index>(nodes_.size());
  if (spare_.empty()) {
    nodes_.emplace_back();
    if (options_.keeps_chains) chains_.emplace_back();
    if (options_.partial_reuse) parts_.emplace_back();
  } else {
    index = spare_.back();
    spare_.pop_back();
  }
  if (options_.keeps_chains) {
    chains_[index] = chain_after(parent, nodes_[parent].run.blocks, run);
  }
  // Field by field: a whole one would be put together elsewhere and read back before it is there.
  Node& node = nodes_[index];
  node.parent = parent;
  node.children = 0;
  node.key = key;
  node.run = run;
  node.hash = hash;
  node.refs = 1;
  node.extent = FreeList::kNoExtent;
  node.is_tip = false;
  ++nodes_[parent].children;
  enter(index);
  return index;
}

void PrefixTree::remove(Index index) {
  HEADROOM_CHECK(nodes_[index].children == 0 && nodes_[index].refs == 0,
                 "a node is removed after those behind it");
  const Index parent = nodes_[index].parent;
  ask_for(nodes_[parent]);
  leave(index);
  if (options_.partial_reuse) forget_beginnings(index);
  --nodes_[parent].children;
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
  node.hash = hash_of(above, node.key);
  make_room_in_table();
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

// There is room.
void PrefixTree::enter(Index index) {
  enter_table(nodes_[index].hash, index);
  ++entries_;
}

void PrefixTree::enter_table(std::uint32_t hash, Index index) {
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = hash & mask;
  while (table_[slot].node != kRoot) slot = (slot + 1) & mask;
  table_[slot] = {hash, index};
}

// Closes the gap, so that every entry is still reached from its home without passing an empty slot.
void PrefixTree::leave(Index index) {
  const std::size_t mask = table_.size() - 1;
  std::size_t gap = nodes_[index].hash & mask;
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

void PrefixTree::make_room_in_table() {
  if (2 * (entries_ + 1) <= table_.size()) return;
  const std::vector<Entry> old = std::move(table_);
  table_ = std::vector<Entry>(old.size() * 2);
  for (const Entry& entry : old) {
    if (entry.node != kRoot) enter_table(entry.hash, entry.node);
  }
}

}  // namespace headroom
