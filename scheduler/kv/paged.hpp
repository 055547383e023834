#pragma once
// Paged KV: blocks of fixed size, taken one by one as a sequence grows, and shared between requests
// that begin with the same content (vLLM V1: ENGINES.md 2.1, 2.2; docs/semantics.md 7).
//
// Full blocks of tokens that are known when try_grow is called are findable from then on, also in
// the same plan. Blocks that decode steps fill are findable from the release on. Of several blocks
// with one content (the last block of a fully cached prompt is computed again; two requests compute
// the same text side by side) the oldest is found. Request::index must name one prompt for as long
// as the pool is used.
//
// A pool that sets aside shares as TGI's radix allocator does (radix.rs of its router): a request
// holds what it finds with others and sets aside the rest of prompt + max_tokens. It makes its
// prompt findable when it leaves, not before, and never its answer; behind text that another has
// made known meanwhile its own goes on, and the copies are free at once. A fully cached prompt
// computes one token, whatever the block. A request that does not fit has emptied the cache of all
// that nobody holds, but for what it found itself.
//
// Windows and states of other layers (SequenceBlocks) have ids of their own. Windows are looked for
// and shared block by block (WindowBlocks); a state is never found, and taken to be behind a hit.
// Where all layers have one window its blocks are the only ones, and a hit is what that finds.
//
// With a second tier a lookup that ends on the device goes on there. What it finds is loaded into
// new blocks, which the request needs beside those it shares; then it is known on the device.

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/kv/free_list.hpp"
#include "scheduler/kv/offload_tier.hpp"
#include "scheduler/kv/prefix_tree.hpp"
#include "scheduler/kv/sample_forks.hpp"
#include "scheduler/kv/window_blocks.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/block_size.hpp"
#include "sim/serving/kv_allocator.hpp"

namespace headroom {

struct PagedKvOptions {
  BlockCount blocks = 0;           // usable ones (vLLM's null block is not among them), >= 1
  std::int32_t block_tokens = 16;  // >= 1
  bool enable_prefix_caching = true;
  bool reserve_final = false;  // hold prompt + max_tokens from admission on (Orca, TGI); no tier
  // Blocks without a hash are used again first (vLLM since 2026), or in the order of their release
  // (vLLM up to 2025).
  bool plain_to_front = true;
  OffloadTierOptions tier = {};  // only with prefix caching
  // The last block of a hit is computed again, for the drafter's hidden states (ENGINES.md 2.2).
  bool drops_last_match = false;
  // What the next block of a prompt begins with is reused too, at most to the last token but one
  // (TensorRT-LLM: enable_partial_reuse): a free block that nothing follows is taken over, any
  // other one is copied (copy_on_partial_reuse), or left. Not with reserve_final, and not behind
  // blocks of the second tier.
  bool partial_reuse = false;
  bool copy_on_partial_reuse = true;
  // Answers to one prompt share its blocks (SampleForks). Only without prefix caching, windows and
  // reserve_final.
  bool forks_samples = false;
  // Layers that keep a window or a state take ids of the same pool: block_tokens is that of their
  // layout. Not with a tier or reserve_final.
  std::optional<SequenceBlocks> sequence = {};
};

class PagedKv final : public KvAllocator, private KvWindows {
 public:
  explicit PagedKv(const PagedKvOptions& options);
  PagedKv(const PagedKv&) = delete;  // its parts point into it
  PagedKv& operator=(const PagedKv&) = delete;

  [[nodiscard]] TokenCount cached_prefix(RequestId id, const Request& request) const override;
  [[nodiscard]] bool try_grow(const KvGrowth& growth) override;
  void take(BlockCount blocks) override;
  void release(RequestId id, const Request& request, TokenCount held_tokens, KvRelease how,
               TokenCount unnamed_tokens = 0) override;
  void on_engine_lost() override;

 private:
  void begin_plan() override;
  [[nodiscard]] bool moves() const override { return window_blocks_.any() && shares_; }
  void move(RequestId id, const Request& request, TokenCount tokens) override;

  // A running request.
  struct Holder {
    BlockCount blocks = 0;       // as of its last try_grow
    TokenCount tokens = 0;       // that its blocks are for; likewise
    BlockCount step_blocks = 0;  // KvPoolState::step_blocks of its own
    BlockCount known_full = 0;   // full blocks of tokens known at its last try_grow
    BlockCount written = 0;      // of a tier that is written through: its first blocks
    PrefixTree::Path path;       // its first blocks, which the tree knows
    bool is_fork = false;        // shares the blocks of its prompt
  };
  // The last lookup, because the head of a queue is looked up in every plan. `index` identifies the
  // prompt.
  struct Lookup {
    RequestId id = kNoRequest;
    std::uint64_t index = 0;
    std::int32_t known_tokens = 0;
    std::uint64_t version = 0;
    PrefixTree::Match match;
    BlockCount with_windows = 0;        // of the match, behind which every window is known
    std::vector<StoredBlocks> in_tier;  // behind the match
    BlockCount tier_blocks = 0;         // of these
    PrefixTree::Partial partial;        // behind the match

    [[nodiscard]] BlockCount blocks() const { return with_windows + tier_blocks; }
  };

  // Of layers that keep less than every token.
  struct Beside {
    BlockCount take = 0;      // new ids
    BlockCount for_step = 0;  // of them, those that only this step needs
    BlockCount fit = 0;       // new ids that must fit
  };

  [[nodiscard]] TokenCount whole_prompt(const KvGrowth& growth) const;
  // `slots`: tokens that it holds blocks for afterwards.
  [[nodiscard]] Beside beside_for(const Holder& holder, const KvGrowth& growth, TokenCount slots);
  void give_up_step_blocks(RequestId id);
  [[nodiscard]] const Lookup& look_up(RequestId id, const Request& request) const;
  void look_in_tier(const Request& request, BlockCount most) const;
  void look_for_beginning(const Request& request) const;
  [[nodiscard]] bool reuse_beginning(TokenCount tokens);
  void load(const Lookup& found, BlockCount blocks);
  void make_known(Holder& holder, const KvGrowth& growth);
  void write_through(Holder& holder, const Request& request, BlockCount full);
  [[nodiscard]] bool tells_of_overwritten() const {
    return rarely(tier_.has_value()) && !options_.tier.write_through;
  }
  void empty_cache_for(const KvGrowth& growth);
  [[nodiscard]] bool grow_answer(Holder& holder, const KvGrowth& growth);
  void lengthen_path(Holder& holder, const Request& request, BlockCount blocks, bool private_too);
  void release_path(RequestId id, const Request& request, TokenCount held_tokens,
                    TokenCount named_tokens, KvRelease how);
  void release_prompt(const Holder& holder, const Request& request, TokenCount held_tokens);
  void take_blocks(BlockCount blocks);
  void evict(PrefixTree::Index owner, BlockCount blocks);
  void give_up_waiting(RequestId id, const Request& request);
  void forget_private(const Request& request);
  // Of `blocks` of tokens, ids of the group that keeps every token.
  [[nodiscard]] BlockCount every(BlockCount blocks) const {
    return mostly(keeps_every_) ? blocks : BlockCount{0};
  }
  void update_pool();
  void update_free();

  PagedKvOptions options_;
  BlockSize block_;
  bool shares_;
  bool keeps_every_;  // a group of layers keeps every token
  FreeList free_;
  PrefixTree tree_;
  SampleForks forks_;
  mutable WindowBlocks window_blocks_;
  std::vector<Holder> held_;  // by RequestId
  mutable Lookup lookup_;
  std::optional<OffloadTier> tier_;
  std::vector<StoredBlocks> moving_;  // between the device and the tier
  mutable std::vector<TextPart> parts_;
  std::vector<RequestId> computing_;  // that hold step_blocks
};

}  // namespace headroom
