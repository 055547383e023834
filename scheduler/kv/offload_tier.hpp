#pragma once
// Second memory of a paged pool: blocks that the device overwrites go to host memory, what host
// memory overwrites goes to disk if there is one (docs/semantics.md, "A second tier").
//
// Both are lists of the least recently put. A block that the device takes back leaves the memory it
// came from, so that device and tier together hold a text once, unless it was computed again
// meanwhile.

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/kv/block_lru.hpp"
#include "sim/serving/kv_allocator.hpp"

namespace headroom {

struct OffloadTierOptions {
  BlockCount host_blocks = 0;  // 0 = there is no second tier
  BlockCount disk_blocks = 0;  // 0 = host memory is the last one
};

class OffloadTier {
 public:
  explicit OffloadTier(const OffloadTierOptions& options);  // host_blocks >= 1

  // The device overwrites these blocks, last one first.
  void store(const StoredBlocks& run);
  // Blocks of which no content is known; they take room like others.
  void store_nameless(BlockCount blocks) { store({0, 0, blocks}); }
  // How many blocks of `run`, from the first on, are in one of the memories.
  [[nodiscard]] BlockCount found(const StoredBlocks& run) const;
  // The device takes these blocks, which were found.
  void load(const StoredBlocks& run);

  // The process died: its host memory is gone, and so is the index of what lies on the disk.
  void on_engine_lost();

  // Since the start.
  [[nodiscard]] const KvTierCounts& counts() const { return counts_; }
  // Changes whenever what is found may change.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  OffloadTierOptions options_;
  BlockLru host_;
  std::optional<BlockLru> disk_;
  KvTierCounts counts_;
  std::uint64_t version_ = 0;
  std::vector<StoredBlocks> spilled_;
};

}  // namespace headroom
