#pragma once
// Paged KV whose cache is a radix tree, as in SGLang (mem_cache/radix_cache.py, common.py;
// docs/semantics/sglang.md 16).
//
// What a request has computed enters the tree when try_grow() makes it known, and all that it holds
// when it leaves, generated tokens too. Blocks whose content the tree has already are given back,
// and the request reads the tree's. A request that is dropped enters nothing. cached_prefix() of a
// request counts as a use.
//
// The blocks of a prefill batch are taken together, when take() says that the batch is complete: so
// no request of it evicts what another one of it has found. Where blocks without content are too
// few for a batch or for a step of decodes, leaves are evicted.

#include <cstdint>
#include <vector>

#include "scheduler/kv/radix_tree.hpp"
#include "sim/serving/block_size.hpp"
#include "sim/serving/kv_allocator.hpp"

namespace headroom {

// Set by the engine.
struct RadixOptions {
  // An eviction frees as many blocks as are asked for, not only those that are lacking.
  bool evicts_all = true;

  bool operator==(const RadixOptions&) const = default;
};

struct RadixKvOptions {
  BlockCount blocks = 0;          // >= 1
  std::int32_t block_tokens = 1;  // >= 1
  bool evicts_all = true;         // RadixOptions
  // The last block of a hit is computed again, for the drafter's hidden states.
  bool drops_last_match = false;
};

class RadixKv final : public KvAllocator {
 public:
  explicit RadixKv(const RadixKvOptions& options);

  [[nodiscard]] TokenCount cached_prefix(RequestId id, const Request& request) const override;
  [[nodiscard]] bool try_grow(const KvGrowth& growth) override;
  void take(BlockCount blocks) override;
  void release(RequestId id, const Request& request, TokenCount held_tokens, KvRelease how,
               TokenCount unnamed_tokens = 0) override;
  void on_engine_lost() override;

 private:
  // A running request.
  struct Holder {
    BlockCount blocks = 0;                     // as of its last try_grow
    TokenCount tokens = 0;                     // that they are for
    BlockCount path = 0;                       // the first of them, which are the tree's
    RadixTree::Index node = RadixTree::kRoot;  // where the path ends
    bool decodes = false;
  };
  // Prompts that have grown since blocks were taken last.
  struct Batch {
    BlockCount blocks = 0;
    TokenCount tokens = 0;
    std::int64_t rows = 0;
  };

  [[nodiscard]] RequestBlocks text(const Request& request, BlockCount blocks) const {
    return {request, options_.block_tokens, 0, blocks};
  }
  void take_batch();
  void evict_for(TokenCount wanted);
  void make_known(Holder& holder, const Request& request, BlockCount blocks);
  void update_pool();

  RadixKvOptions options_;
  BlockSize block_;
  mutable RadixTree tree_;
  BlockCount plain_;  // blocks without content; less than none while a batch has not taken its own
  Batch batch_;
  std::int64_t decoding_ = 0;
  std::vector<Holder> held_;  // by RequestId
};

}  // namespace headroom
