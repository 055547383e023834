#pragma once
// Second memory of a paged pool: blocks that the device overwrites go to host memory, what host
// memory overwrites goes to disk if there is one (docs/semantics.md, "A second tier").
//
// Both are lists of the least recently put. Exclusive (TensorRT-LLM): a block goes out when the
// device overwrites it, and one that the device takes back leaves the memory it came from, so that
// device and tier together hold a text once, unless it was computed again meanwhile. Written
// through (vLLM): a block goes out when it is full, and stays there when it is loaded; what the
// device overwrites is there already, or has been overwritten there too.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/kv/block_lru.hpp"
#include "sim/serving/kv_allocator.hpp"

namespace headroom {

struct OffloadTierOptions {
  BlockCount host_blocks = 0;  // 0 = there is no second tier
  BlockCount disk_blocks = 0;  // 0 = host memory is the last one
  bool write_through = false;
};

class OffloadTier {
 public:
  explicit OffloadTier(const OffloadTierOptions& options);  // host_blocks >= 1

  // Written through: the blocks of these runs are full, or used again, last one first. Those that
  // are here already become the newest before anything is overwritten.
  void write(std::span<const StoredBlocks> runs);
  // Exclusive: the device overwrites these blocks, last one first.
  void store(const StoredBlocks& run);
  // Blocks with unknown content; they take room like others.
  void store_nameless(BlockCount blocks) { store({0, 0, blocks}); }
  // How many blocks of `run`, from the first on, are in one of the memories.
  [[nodiscard]] BlockCount found(const StoredBlocks& run) const;
  // The device takes these blocks, which were found, last one first.
  void load(std::span<const StoredBlocks> runs);

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
  void put(const StoredBlocks& run);
  // How many of them were not on the host.
  [[nodiscard]] BlockCount renew(std::span<const StoredBlocks> runs);
  void take_out(const StoredBlocks& run);

  std::vector<StoredBlocks> spilled_;
};

}  // namespace headroom
