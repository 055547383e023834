#include "scheduler/kv/window_blocks.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr std::size_t kFirstBlockBuckets = 64;  // a power of two

}  // namespace

WindowBlocks::WindowBlocks(const SequenceBlocks& sequence, std::int32_t block_tokens,
                           bool drops_last, FreeList& free)
    : sequence_(sequence),
      block_tokens_(block_tokens),
      drops_last_(drops_last),
      free_(free),
      blocks_(1),
      buckets_(kFirstBlockBuckets) {}

// --- what is known ------------------------------------------------------------------------------

void WindowBlocks::follow(const Request& request, BlockCount blocks) {
  parts_.clear();
  RequestBlocks walk(request, block_tokens_, 0, blocks);
  BlockRun run;
  ChainId chain = 0;
  for (BlockCount first = 0; walk.next(run); first += run.blocks) {
    parts_.push_back({stored_run(chain, run, block_tokens_), first, run.is_private});
    chain = chain_behind(chain, run, block_tokens_);
  }
}

const WindowBlocks::Part& WindowBlocks::part_with(BlockCount number) const {
  const auto behind = std::ranges::upper_bound(parts_, number, {}, &Part::first);
  return *std::prev(behind);
}

std::uint64_t WindowBlocks::key_of(std::size_t window, BlockCount number) const {
  const Part& part = part_with(number);
  const auto in_text = static_cast<std::uint64_t>(part.run.first + number - part.first);
  return mixed_id(mixed_id(part.run.text, in_text), window);
}

BlockCount WindowBlocks::found(const Request& request, BlockCount blocks) {
  const std::size_t windows = sequence_.windows().size();
  if (windows == 0 || blocks == 0) return blocks;
  follow(request, blocks);
  // Repeats until all windows agree: a length that is too long for one is searched again in the
  // others.
  std::size_t agree = 0;
  for (std::size_t window = 0; agree < windows; window = (window + 1) % windows) {
    const BlockCount here = found_in(window, blocks);
    agree = here < blocks ? 1 : agree + 1;
    blocks = here;
  }
  return blocks;
}

BlockCount WindowBlocks::found_in(std::size_t window, BlockCount blocks) const {
  const SequenceBlocks::Window& shape = sequence_.windows()[window];
  const auto is_known = [&](BlockCount number) {
    return block_with(key_of(window, number)) != kNone;
  };
  if (shape.chunked) {
    // Where blocks straddle chunks, what ends with the block that a chunk begins in attends to the
    // chunk before.
    while (true) {
      const BlockCount begin = sequence_.blocks_behind(shape, blocks * block_tokens_);
      BlockCount end = begin;
      while (end < blocks && is_known(end)) ++end;
      if (sequence_.blocks_behind(shape, end * block_tokens_) == begin) return end;
      blocks = end;
    }
  }
  // From the right: as many known blocks in a row as the next token attends to, or all the first.
  const BlockCount needed =
      blocks_needed(shape.window_tokens - 1, block_tokens_) + (drops_last_ ? 1 : 0);
  BlockCount end = blocks;
  for (BlockCount number = blocks; number > 0 && end - number < needed;) {
    if (!is_known(--number)) end = number;
  }
  return end;
}

WindowBlocks::Ids WindowBlocks::ids_behind(const Request& request, BlockCount blocks) {
  Ids ids;
  if (blocks == 0) return ids;
  follow(request, blocks);
  for (std::size_t w = 0; w < sequence_.windows().size(); ++w) {
    const SequenceBlocks::Window& window = sequence_.windows()[w];
    BlockCount number = sequence_.blocks_behind(window, blocks * block_tokens_);
    for (; number < blocks; ++number) {
      const Block& block = blocks_[known_block(w, number)];
      ids.all += window.ids_per_block;
      if (block.holders == 0) ids.free += window.ids_per_block;
    }
  }
  return ids;
}

WindowBlocks::Index WindowBlocks::block_with(std::uint64_t key) const {
  Index index = buckets_[key & (buckets_.size() - 1)];
  while (index != kNone && blocks_[index].key != key) index = blocks_[index].next;
  return index;
}

WindowBlocks::Index WindowBlocks::known_block(std::size_t window, BlockCount number) const {
  const Index index = block_with(key_of(window, number));
  HEADROOM_CHECK(index != kNone, "a block behind a hit is not known");
  return index;
}

WindowBlocks::Index WindowBlocks::add(std::uint64_t key, BlockCount ids) {
  auto index = static_cast<Index>(blocks_.size());
  if (spare_.empty()) {
    if (blocks_.size() > buckets_.size()) enlarge();
    blocks_.emplace_back();
  } else {
    index = spare_.back();
    spare_.pop_back();
  }
  blocks_[index] = {.key = key, .holders = 1, .ids = ids, .older = index, .younger = index};
  const Index oldest = block_with(key);
  if (oldest == kNone) {
    blocks_[index].next = bucket(key);
    bucket(key) = index;
  } else {
    const Index last = blocks_[oldest].older;
    blocks_[index].older = last;
    blocks_[index].younger = oldest;
    blocks_[last].younger = index;
    blocks_[oldest].older = index;
  }
  return index;
}

void WindowBlocks::forget(Index index) {
  const Block& block = blocks_[index];
  if (block_with(block.key) == index) {
    Index* at = &bucket(block.key);
    while (*at != index) at = &blocks_[*at].next;
    const bool is_only_one = block.younger == index;
    if (!is_only_one) blocks_[block.younger].next = block.next;
    *at = is_only_one ? block.next : block.younger;
  }
  blocks_[block.older].younger = block.younger;
  blocks_[block.younger].older = block.older;
}

void WindowBlocks::enlarge() {
  std::vector<Index> old(buckets_.size() * 2);
  old.swap(buckets_);
  for (Index index : old) {
    while (index != kNone) {
      const Index next = blocks_[index].next;
      blocks_[index].next = bucket(blocks_[index].key);
      bucket(blocks_[index].key) = index;
      index = next;
    }
  }
}

void WindowBlocks::evict(FreeList::Owner owner, BlockCount ids) {
  const Index index = owner & ~kOwnerBit;
  Block& block = blocks_[index];
  const BlockCount all = block.ids;
  HEADROOM_CHECK(block.holders == 0 && ids <= all, "a held block of a window is overwritten");
  if (block.key != 0) {
    forget(index);
    block.key = 0;  // unknown from its first id on
    ++version_;
  }
  block.ids -= ids;
  if (block.ids == 0) spare_.push_back(index);
}

// --- what is held -------------------------------------------------------------------------------

void WindowBlocks::start(RequestId id, const Request& request, BlockCount blocks,
                         TokenCount after) {
  const std::size_t windows = sequence_.windows().size();
  if (tables_.size() < (id + 1) * windows) tables_.resize((id + 1) * windows);
  if (blocks > 0) follow(request, blocks);
  const TokenCount before = blocks * block_tokens_;
  for (std::size_t w = 0; w < windows; ++w) {
    const SequenceBlocks::Window& window = sequence_.windows()[w];
    Table& held = table(id, w);
    held.first =
        blocks_needed(after, block_tokens_) - sequence_.held_in_step(window, before, after);
    held.gone = 0;
    const BlockCount behind = sequence_.blocks_behind(window, before);
    // A chunk of attention has as many ids as ever from its beginning on.
    held.known.assign(static_cast<std::size_t>(behind - held.first), kNone);
    for (BlockCount number = behind; number < blocks; ++number) {
      const Index index = known_block(w, number);
      Block& block = blocks_[index];
      if (block.holders++ == 0) {
        free_.take_owned(block.extent);
        block.extent = FreeList::kNoExtent;
      } else {
        shared_ids_ += window.ids_per_block;
      }
      held.known.push_back(index);
    }
  }
}

void WindowBlocks::make_known(RequestId id, const Request& request, BlockCount blocks) {
  if (request.prefix.empty() && request.output_segment == 0) return;
  follow(request, blocks);
  for (std::size_t w = 0; w < sequence_.windows().size(); ++w) name(id, w, blocks, false);
}

// Of the request that was followed.
void WindowBlocks::name(RequestId id, std::size_t window, BlockCount blocks, bool private_too) {
  Table& held = table(id, window);
  for (BlockCount number = held.end_of_known(); number < blocks; ++number) {
    if (part_with(number).is_private && !private_too) return;
    const std::uint64_t key = key_of(window, number);
    held.known.push_back(add(key, sequence_.windows()[window].ids_per_block));
    ++version_;
  }
}

void WindowBlocks::let_go(Index index, BlockCount ids) {
  if (index == kNone) return free_.put_hashed(ids);
  Block& block = blocks_[index];
  HEADROOM_CHECK(block.holders > 0, "a block of a window is given back twice");
  if (--block.holders > 0) {
    shared_ids_ -= ids;
  } else {
    block.extent = free_.put_owned(ids, index | kOwnerBit);
  }
}

// Blocks that leave a window are full, so even unknown ones have a hash.
void WindowBlocks::drop_first(Table& held, BlockCount blocks, BlockCount ids) {
  for (BlockCount left = blocks; left-- > 0;) {
    const std::size_t at = held.gone + static_cast<std::size_t>(left);
    let_go(at < held.known.size() ? held.known[at] : kNone, ids);
  }
  held.first += blocks;
  held.gone += static_cast<std::size_t>(blocks);
  if (held.gone >= held.known.size()) {
    held.known.clear();
    held.gone = 0;
  } else if (2 * held.gone >= held.known.size()) {
    const auto begin = held.known.begin();
    held.known.erase(begin, begin + static_cast<std::ptrdiff_t>(held.gone));
    held.gone = 0;
  }
}

// Whether the block that is number `at` of those held becomes free when it is let go.
bool WindowBlocks::frees(const Table& held, BlockCount at) const {
  const std::size_t place = held.gone + static_cast<std::size_t>(at);
  const Index index = place < held.known.size() ? held.known[place] : kNone;
  return index == kNone || blocks_[index].holders == 1;
}

WindowBlocks::Ids WindowBlocks::ids_leaving(RequestId id, TokenCount before, TokenCount after) {
  Ids ids;
  for (std::size_t w = 0; w < sequence_.windows().size(); ++w) {
    const SequenceBlocks::Window& window = sequence_.windows()[w];
    const Table& held = table(id, w);
    const BlockCount leave = blocks_needed(after, block_tokens_) -
                             sequence_.held_in_step(window, before, after) - held.first;
    for (BlockCount at = 0; at < leave; ++at) {
      ids.all += window.ids_per_block;
      if (frees(held, at)) ids.free += window.ids_per_block;
    }
  }
  return ids;
}

void WindowBlocks::advance(RequestId id, TokenCount before, TokenCount after) {
  for (std::size_t w = 0; w < sequence_.windows().size(); ++w) {
    const SequenceBlocks::Window& window = sequence_.windows()[w];
    Table& held = table(id, w);
    const BlockCount first =
        blocks_needed(after, block_tokens_) - sequence_.held_in_step(window, before, after);
    drop_first(held, std::max<BlockCount>(0, first - held.first), window.ids_per_block);
  }
}

void WindowBlocks::trim(RequestId id, TokenCount tokens) {
  const BlockCount end = blocks_needed(tokens, block_tokens_);
  for (std::size_t w = 0; w < sequence_.windows().size(); ++w) {
    const SequenceBlocks::Window& window = sequence_.windows()[w];
    Table& held = table(id, w);
    const BlockCount first = end - sequence_.held_of(window, tokens);
    drop_first(held, std::max<BlockCount>(0, first - held.first), window.ids_per_block);
  }
}

bool WindowBlocks::move(RequestId id, std::size_t window, TokenCount tokens) {
  const SequenceBlocks::Window& shape = sequence_.windows()[window];
  Table& held = table(id, window);
  if (held.first + shape.most_blocks >= blocks_needed(tokens, block_tokens_)) return false;
  if (!frees(held, 0) && free_.size() < shape.ids_per_block) return false;
  drop_first(held, 1, shape.ids_per_block);
  return true;
}

void WindowBlocks::release(RequestId id, const Request& request, TokenCount tokens,
                           BlockCount hashed, bool private_too) {
  const bool any_known = private_too || !request.prefix.empty() || request.output_segment != 0;
  if (any_known) follow(request, hashed);
  for (std::size_t w = 0; w < sequence_.windows().size(); ++w) {
    const SequenceBlocks::Window& window = sequence_.windows()[w];
    Table& held = table(id, w);
    // After a block that could not leave, the last one is missing.
    const BlockCount end = held.first + sequence_.held_of(window, tokens);
    if (any_known) name(id, w, std::min(end, hashed), private_too);
    const BlockCount plain = std::clamp<BlockCount>(end - hashed, 0, end - held.first);
    free_.put_plain(plain * window.ids_per_block);
    drop_first(held, end - held.first - plain, window.ids_per_block);
    held.known.clear();
    held.gone = 0;
  }
}

void WindowBlocks::clear() {
  tables_.clear();
  blocks_.assign(1, {});
  spare_.clear();
  buckets_.assign(kFirstBlockBuckets, kNone);
  shared_ids_ = 0;
  ++version_;
}

}  // namespace headroom
