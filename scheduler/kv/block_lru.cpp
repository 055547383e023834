#include "scheduler/kv/block_lru.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr std::size_t kFirstExtentBuckets = 64;  // a power of two

std::int64_t end_of(const StoredBlocks& run) { return run.first + run.blocks; }

}  // namespace

BlockLru::BlockLru(BlockCount capacity)
    : capacity_(capacity), extents_(1), buckets_(kFirstExtentBuckets) {
  HEADROOM_CHECK(capacity >= 1, "a memory without a block");
}

void BlockLru::put(StoredBlocks run, std::vector<StoredBlocks>& spilled) {
  while (run.blocks > 0) {
    // As many at once as overwrite no block that is put later in this very call: such a block is
    // gone by then and takes a place again.
    BlockCount part = std::min(run.blocks, capacity_ - size_);
    if (part == 0) {
      const StoredBlocks& oldest = extents_[extents_[kEnd].newer].run;
      const bool itself = run.text != 0 && oldest.text == run.text;
      part = itself ? 1 : std::min(run.blocks, oldest.blocks);
    }
    run.blocks -= part;
    const StoredBlocks last{run.text, end_of(run), part};
    remove(last);
    if (size_ + part > capacity_) spill_oldest(size_ + part - capacity_, spilled);
    append(last);
  }
}

BlockCount BlockLru::found(const StoredBlocks& run) const {
  BlockCount found = 0;
  while (found < run.blocks) {
    const Index index = extent_with(run.text, run.first + found);
    if (index == kEnd) break;
    found = std::min(run.blocks, end_of(extents_[index].run) - run.first);
  }
  return found;
}

BlockCount BlockLru::remove(const StoredBlocks& run) {
  if (run.text == 0) return 0;
  BlockCount removed = 0;
  Index following = kEnd;
  for (Index index = bucket(run.text); index != kEnd; index = following) {
    following = extents_[index].next_in_bucket;
    if (extents_[index].run.text == run.text) removed += cut(index, run);
  }
  size_ -= removed;
  return removed;
}

BlockLru::Index BlockLru::extent_with(std::uint64_t text, std::int64_t block) const {
  if (text == 0) return kEnd;
  Index index = buckets_[text & (buckets_.size() - 1)];
  for (; index != kEnd; index = extents_[index].next_in_bucket) {
    const StoredBlocks& run = extents_[index].run;
    if (run.text == text && run.first <= block && block < end_of(run)) break;
  }
  return index;
}

// Takes the blocks of `run` out of an extent of the same text, which may fall in two.
BlockCount BlockLru::cut(Index index, const StoredBlocks& run) {
  StoredBlocks& held = extents_[index].run;
  const std::int64_t begin = std::max(held.first, run.first);
  const std::int64_t end = std::min(end_of(held), end_of(run));
  if (begin >= end) return 0;
  const StoredBlocks before{held.text, held.first, begin - held.first};
  const StoredBlocks behind{held.text, end, end_of(held) - end};
  if (before.blocks == 0 && behind.blocks == 0) {
    erase(index);
  } else if (behind.blocks == 0) {
    held = before;
  } else {
    held = behind;
    if (before.blocks > 0) insert_after(index, before);
  }
  return end - begin;
}

void BlockLru::append(const StoredBlocks& run) {
  size_ += run.blocks;
  const Index newest = extents_[kEnd].older;
  StoredBlocks& last = extents_[newest].run;
  if (newest == kEnd || last.text != run.text || (run.text != 0 && last.first != end_of(run))) {
    insert_after(newest, run);
    return;
  }
  if (run.text != 0) last.first = run.first;
  last.blocks += run.blocks;
}

// All of them are of the oldest extent.
void BlockLru::spill_oldest(BlockCount blocks, std::vector<StoredBlocks>& spilled) {
  const Index oldest = extents_[kEnd].newer;
  StoredBlocks& run = extents_[oldest].run;
  HEADROOM_CHECK(blocks <= run.blocks, "more blocks overwritten than the oldest run has");
  run.blocks -= blocks;
  spilled.push_back({run.text, end_of(run), blocks});
  size_ -= blocks;
  if (run.blocks == 0) erase(oldest);
}

void BlockLru::insert_after(Index older, const StoredBlocks& run) {
  auto index = static_cast<Index>(extents_.size());
  if (spare_.empty()) {
    if (extents_.size() > buckets_.size()) enlarge();
    extents_.emplace_back();
  } else {
    index = spare_.back();
    spare_.pop_back();
  }
  const Index newer = extents_[older].newer;
  extents_[index] = {.run = run, .older = older, .newer = newer};
  extents_[older].newer = index;
  extents_[newer].older = index;
  if (run.text == 0) return;
  extents_[index].next_in_bucket = bucket(run.text);
  bucket(run.text) = index;
}

void BlockLru::erase(Index index) {
  const Extent& extent = extents_[index];
  extents_[extent.older].newer = extent.newer;
  extents_[extent.newer].older = extent.older;
  spare_.push_back(index);
  if (extent.run.text == 0) return;
  Index* at = &bucket(extent.run.text);
  while (*at != index) {
    HEADROOM_CHECK(*at != kEnd, "an extent is not in its bucket");
    at = &extents_[*at].next_in_bucket;
  }
  *at = extent.next_in_bucket;
}

// No extent is spare: every one but the sentinel is in the list.
void BlockLru::enlarge() {
  buckets_.assign(buckets_.size() * 2, kEnd);
  for (Index index = 1; index < extents_.size(); ++index) {
    const std::uint64_t text = extents_[index].run.text;
    if (text == 0) continue;
    extents_[index].next_in_bucket = bucket(text);
    bucket(text) = index;
  }
}

}  // namespace headroom
