#include "scheduler/kv/offload_tier.hpp"

#include "sim/kernel/check.hpp"

namespace headroom {

OffloadTier::OffloadTier(const OffloadTierOptions& options)
    : options_(options), host_(options.host_blocks) {
  if (options.disk_blocks > 0) disk_.emplace(options.disk_blocks);
}

void OffloadTier::on_engine_lost() {
  ++version_;
  host_ = BlockLru(options_.host_blocks);
  if (disk_) disk_.emplace(options_.disk_blocks);
}

void OffloadTier::store(const StoredBlocks& run) {
  counts_.stored_blocks += run.blocks;
  put(run);
}

void OffloadTier::write(std::span<const StoredBlocks> runs) {
  counts_.stored_blocks += renew(runs);
}

BlockCount OffloadTier::renew(std::span<const StoredBlocks> runs) {
  BlockCount missing = 0;
  for (const StoredBlocks& run : runs) missing += run.blocks - host_.remove(run);
  for (const StoredBlocks& run : runs) put(run);
  return missing;
}

void OffloadTier::put(const StoredBlocks& run) {
  ++version_;
  spilled_.clear();
  host_.put(run, spilled_);
  if (!disk_) return;
  // What the disk overwrites is appended, and goes nowhere.
  const std::size_t from_host = spilled_.size();
  for (std::size_t i = 0; i < from_host; ++i) {
    counts_.stored_on_disk += spilled_[i].blocks;
    disk_->put(StoredBlocks(spilled_[i]), spilled_);
  }
}

BlockCount OffloadTier::found(const StoredBlocks& run) const {
  BlockCount found = host_.found(run);
  if (!disk_) return found;
  while (found < run.blocks) {
    const StoredBlocks rest{run.text, run.first + found, run.blocks - found};
    const BlockCount more = disk_->found(rest);
    if (more == 0) break;
    found += more;
    const StoredBlocks behind{run.text, run.first + found, run.blocks - found};
    found += host_.found(behind);
  }
  return found;
}

void OffloadTier::load(std::span<const StoredBlocks> runs) {
  ++version_;
  for (const StoredBlocks& run : runs) counts_.loaded_blocks += run.blocks;
  if (options_.write_through) {
    counts_.loaded_from_disk += renew(runs);
  } else {
    for (const StoredBlocks& run : runs) take_out(run);
  }
}

void OffloadTier::take_out(const StoredBlocks& run) {
  StoredBlocks rest = run;
  while (rest.blocks > 0) {
    StoredBlocks next{rest.text, rest.first, host_.found(rest)};
    if (next.blocks > 0) {
      host_.remove(next);
    } else {
      // One by one: a block that is in both memories comes from the host.
      next.blocks = 1;
      HEADROOM_CHECK(disk_ && disk_->remove(next) == 1, "a block is loaded that is nowhere");
      ++counts_.loaded_from_disk;
    }
    rest.first += next.blocks;
    rest.blocks -= next.blocks;
  }
}

}  // namespace headroom
