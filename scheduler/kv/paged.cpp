#include "scheduler/kv/paged.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"

namespace headroom {
namespace {

PrefixTree tree_of(const PagedKvOptions& options) {
  return PrefixTree(options.block_tokens, {.partial_reuse = options.partial_reuse,
                                           .keeps_chains = options.tier.host_blocks > 0});
}

}  // namespace

PagedKv::PagedKv(const PagedKvOptions& options)
    : KvAllocator(options.sequence.value_or(SequenceBlocks(options.block_tokens))),
      options_(options),
      block_(options.block_tokens),
      shares_(options.enable_prefix_caching),
      keeps_every_(sequence().every() > 0),
      free_(options.blocks, options.plain_to_front),
      tree_(tree_of(options)),
      forks_(options.block_tokens),
      window_blocks_(sequence(), options.block_tokens, options.drops_last_match, free_) {
  HEADROOM_CHECK(options.blocks >= 0 && options.block_tokens >= 1, "a pool of whole blocks");
  HEADROOM_CHECK(sequence().uniform() || (!options.reserve_final && options.tier.host_blocks == 0),
                 "windows and states in a pool that sets aside or has a second tier");
  HEADROOM_CHECK(!options.reserve_final || options.tier.host_blocks == 0,
                 "a pool that sets aside has a second tier");
  HEADROOM_CHECK(!options.partial_reuse || (!options.reserve_final && !options.drops_last_match),
                 "parts of blocks in a pool that sets aside or drops what it found");
  HEADROOM_CHECK(!options.forks_samples || (!options.enable_prefix_caching &&
                                            !options.reserve_final && sequence().uniform()),
                 "forks in a pool that finds, sets aside or forgets blocks");
  options_.tier.write_through =
      options.tier.write_through && shares_ && options.tier.host_blocks > 0;
  if (shares_ && options.tier.host_blocks > 0) tier_counts_ = &tier_.emplace(options.tier).counts();
  if (!sequence().uniform()) windows_ = this;
  pool_.block_tokens = options.block_tokens;
  pool_.grows_with_decode = !options.reserve_final;
  pool_.total_blocks = options.blocks;
  update_pool();
}

TokenCount PagedKv::cached_prefix(RequestId id, const Request& request) const {
  if (id < held_.size() && held_[id].blocks > 0) return request.known_tokens - 1;
  if (rarely(options_.forks_samples)) return forks_.found(request);
  if (!shares_ || request.prompt_logprobs) return 0;
  if (tree_.nodes() == 0 && !tier_ && keeps_every_) return 0;
  const Lookup& found = look_up(id, request);
  BlockCount blocks = found.blocks();
  if (options_.drops_last_match && blocks > 0) [[unlikely]] {
    --blocks;
  }
  return std::min<TokenCount>(blocks * options_.block_tokens + found.partial.tokens,
                              request.known_tokens - 1);
}

const PagedKv::Lookup& PagedKv::look_up(RequestId id, const Request& request) const {
  Lookup& last = lookup_;
  const std::uint64_t version =
      tree_.version() + window_blocks_.version() + (tier_ ? tier_->version() : 0);
  const bool same = last.id == id && last.index == request.index &&
                    last.known_tokens == request.known_tokens && last.version == version;
  if (same) return last;
  last.id = id;
  last.index = request.index;
  last.known_tokens = request.known_tokens;
  last.version = version;
  // At least one token is computed: it yields the logits (ENGINES.md 2.2, 2.7). Into a block of its
  // own, or (TGI) again into the one that was found.
  const std::int32_t longest = request.known_tokens - (options_.reserve_final ? 0 : 1);
  const BlockCount most = block_.full(longest);
  if (mostly(keeps_every_)) {
    tree_.match(RequestBlocks(request, options_.block_tokens, 0, most), last.match);
  }
  last.with_windows = window_blocks_.found(request, keeps_every_ ? last.match.blocks : most);
  if (tier_) look_in_tier(request, most);
  if (options_.partial_reuse) look_for_beginning(request);
  return last;
}

// The known part of the next block, without the very last token.
void PagedKv::look_for_beginning(const Request& request) const {
  Lookup& last = lookup_;
  last.partial = {};
  if (last.tier_blocks > 0) return;
  const TokenCount begin = last.match.blocks * options_.block_tokens;
  const TokenCount end =
      std::min<TokenCount>(begin + options_.block_tokens, request.known_tokens - 1);
  public_parts(request, begin, end, parts_);
  const PrefixTree::Partial found = tree_.partial(last.match, parts_);
  if (found.free_leaf || options_.copy_on_partial_reuse) last.partial = found;
}

// `tokens` of the block behind the match that was looked up last and is held now. True: the block
// itself was taken over.
bool PagedKv::reuse_beginning(TokenCount tokens) {
  const PrefixTree::Partial& found = lookup_.partial;
  HEADROOM_CHECK(tokens == found.tokens, "another beginning than the one that was found");
  if (found.free_leaf) {
    tree_.steal(found.node, free_);
  } else {
    traffic_.moved_tokens += tokens;
  }
  return found.free_leaf;
}

// With windows, an admission needs room for the whole known prompt: the need of its first chunk
// changes with the prefix found, and a refused head must stay refused until a request leaves.
TokenCount PagedKv::whole_prompt(const KvGrowth& growth) const {
  const bool admits = held_[growth.id].blocks == 0 && growth.request != nullptr;
  return admits && moves_windows() ? growth.request->known_tokens : TokenCount{0};
}

bool PagedKv::try_grow(const KvGrowth& growth) {
  if (growth.id >= held_.size()) held_.resize(growth.id + 1);
  Holder& holder = held_[growth.id];
  if (options_.forks_samples) [[unlikely]] {
    return grow_answer(holder, growth);
  }
  const TokenCount hold = options_.reserve_final ? growth.final_tokens : growth.hold_tokens;
  const BlockCount fit =
      every(block_.needed(std::max({hold, growth.fit_tokens, whole_prompt(growth)})));
  // A request that holds its blocks before admission needs no lookup any more.
  const TokenCount prefix = holder.blocks > 0 ? TokenCount{0} : growth.cached_tokens;
  const TokenCount part = rarely(options_.partial_reuse) ? block_.rest(prefix) : TokenCount{0};
  const BlockCount cached = block_.needed(prefix - part);
  const BlockCount more = std::max<BlockCount>(0, block_.needed(hold) - holder.blocks - cached);
  // Slots of drafts stay when a step has fewer of them.
  const TokenCount slots = std::max(hold, holder.tokens);
  const Beside beside = beside_for(holder, growth, slots);
  BlockCount loaded = 0;
  BlockCount taken_over = 0;
  if (prefix > 0) {
    HEADROOM_CHECK(shares_ && growth.request != nullptr,
                   "a prefix is found at admission, for a request with an identity");
    const Lookup& found = look_up(growth.id, *growth.request);
    const BlockCount on_device = std::min(cached, found.match.blocks);
    loaded = every(cached) - on_device;
    // Cached blocks without a holder are in the free list, so a hit consumes them like any other. A
    // loaded block needs a new one.
    const BlockCount need =
        fit + beside.fit - on_device + tree_.free_blocks(found.match, on_device);
    if (need + growth.keep_free > free_.size()) {
      empty_cache_for(growth);
      return false;
    }
    holder.path = tree_.hold(found.match, on_device, free_);
    // Before anything is overwritten, which might push it out of the tier.
    if (loaded > 0) load(found, loaded);
    if (part > 0 && reuse_beginning(part)) taken_over = 1;
  } else if (rarely(fit + beside.fit - every(holder.blocks) + growth.keep_free > free_.size())) {
    empty_cache_for(growth);
    return false;
  }
  if (moves_windows()) [[unlikely]] {
    if (holder.blocks == 0) {
      window_blocks_.start(growth.id, *growth.request, cached, slots);
    } else {
      window_blocks_.advance(growth.id, holder.tokens, slots);
    }
  }
  const std::int64_t stored = rarely(tier_.has_value()) ? tier_->counts().stored_blocks : 0;
  take_blocks(loaded + every(more) - taken_over + beside.take);
  if (tier_) traffic_.stored_blocks += tier_->counts().stored_blocks - stored;
  holder.blocks += cached + more;
  holder.tokens = slots;
  if (beside.for_step > 0) [[unlikely]] {
    HEADROOM_CHECK(holder.step_blocks == 0, "a request computes twice in a step");
    holder.step_blocks = beside.for_step;
    pool_.step_blocks += beside.for_step;
    computing_.push_back(growth.id);
  }
  if (shares_ && !options_.reserve_final && growth.request != nullptr) make_known(holder, growth);
  update_pool();
  return true;
}

// What the tokens that `holder` holds now let others find.
void PagedKv::make_known(Holder& holder, const KvGrowth& growth) {
  const TokenCount computed = rarely(growth.is_unknown)
                                  ? growth.cached_tokens
                                  : growth.hold_tokens - growth.lookahead_tokens;
  const TokenCount known = std::min<TokenCount>(computed, growth.request->known_tokens);
  const BlockCount before = holder.known_full;
  holder.known_full = std::max(before, block_.full(known));
  // No other request looks for private blocks, so they need no identity before the release.
  lengthen_path(holder, *growth.request, holder.known_full, false);
  if (rarely(options_.tier.write_through)) {
    write_through(holder, *growth.request, holder.known_full);
  }
  if (window_blocks_.any() && holder.known_full > before) [[unlikely]] {
    window_blocks_.make_known(growth.id, *growth.request, holder.known_full);
  }
}

// With forks of samples. A fork takes blocks for what its prompt does not fill, and copies those
// that are partly filled.
bool PagedKv::grow_answer(Holder& holder, const KvGrowth& growth) {
  const bool forks = growth.cached_tokens > 0;
  const BlockCount shared = forks ? forks_.blocks(*growth.request) : BlockCount{0};
  const BlockCount has = holder.blocks + shared;
  const BlockCount fit = block_.needed(std::max(growth.hold_tokens, growth.fit_tokens));
  if (fit - has + growth.keep_free > free_.size()) return false;
  const BlockCount more = std::max<BlockCount>(0, block_.needed(growth.hold_tokens) - has);
  take_blocks(more);
  holder.blocks = has + more;
  holder.tokens = growth.hold_tokens;
  if (forks) {
    forks_.fork(*growth.request);
    holder.is_fork = true;
    if (forks_.copies(*growth.request)) traffic_.moved_tokens += options_.block_tokens;
  } else if (!holder.is_fork && growth.request != nullptr &&
             growth.hold_tokens >= growth.request->prompt_tokens) {
    holder.is_fork = forks_.offer(*growth.request);
  }
  update_pool();
  return true;
}

// For a request that does not fit: TGI removes all blocks without a holder from its tree before it
// sees that they are too few (radix.rs, alloc_or_reclaim). The number of free blocks stays the
// same.
void PagedKv::empty_cache_for(const KvGrowth& growth) {
  if (!options_.reserve_final || !shares_) return;
  const BlockCount cached = block_.needed(growth.cached_tokens);
  const PrefixTree::Match& found = lookup_.match;  // of this request, if anything is cached
  if (free_.hashed() == (cached > 0 ? tree_.free_blocks(found, cached) : 0)) return;
  const PrefixTree::Path kept = cached > 0 ? tree_.hold(found, cached, free_) : PrefixTree::Path{};
  const BlockCount others = free_.size();
  take_blocks(others);
  free_.put_plain(others);
  tree_.release(kept, false, free_);
  update_pool();
}

// Ids of windows and states. Besides those held between steps (as many as `holder.tokens` ask for)
// a step that computes many tokens has them all, also behind a window.
PagedKv::Beside PagedKv::beside_for(const Holder& holder, const KvGrowth& growth,
                                    TokenCount slots) {
  Beside beside;
  if (sequence().uniform()) return beside;
  const bool admits = holder.blocks == 0;
  HEADROOM_CHECK(!admits || growth.request != nullptr, "an admission without a request");
  const TokenCount before = admits ? growth.cached_tokens : holder.tokens;
  WindowBlocks::Ids found;  // those in the free list are used up by a hit like any other
  if (admits) {
    found = window_blocks_.ids_behind(*growth.request, block_.full(growth.cached_tokens));
  }
  WindowBlocks::Ids leaves;
  if (!admits && moves_windows()) {
    leaves = window_blocks_.ids_leaving(growth.id, before, slots);
  }
  const BlockCount has = admits ? found.all : sequence().beside(holder.tokens);
  const BlockCount in_step = sequence().beside_in_step(before, slots);
  beside.for_step = in_step - sequence().beside(slots);
  beside.take = in_step - has + leaves.all;
  const BlockCount to_admit =
      admits ? sequence().beside_to_admit(growth.request->known_tokens, before) : BlockCount{0};
  beside.fit = std::max(in_step, to_admit) - has + found.free + leaves.all - leaves.free;
  return beside;
}

void PagedKv::begin_plan() {
  if (computing_.empty()) return;
  for (const RequestId id : computing_) give_up_step_blocks(id);
  computing_.clear();
  update_pool();
}

void PagedKv::give_up_step_blocks(RequestId id) {
  Holder& holder = held_[id];
  if (mostly(holder.step_blocks == 0)) return;
  if (moves_windows()) {
    window_blocks_.trim(id, holder.tokens);
  } else {
    free_.put_plain(holder.step_blocks);
  }
  pool_.step_blocks -= holder.step_blocks;
  holder.step_blocks = 0;
}

// The block that leaves is free before the next one is taken.
void PagedKv::move(RequestId id, const Request& /*request*/, TokenCount tokens) {
  const std::span<const SequenceBlocks::Window> windows = sequence().windows();
  for (std::size_t w = 0; w < windows.size(); ++w) {
    while (window_blocks_.move(id, w, tokens)) take_blocks(windows[w].ids_per_block);
  }
  update_pool();
}

void PagedKv::lengthen_path(Holder& holder, const Request& request, BlockCount blocks,
                            bool private_too) {
  if (blocks <= holder.path.blocks || !keeps_every_) return;
  if (!private_too && request.prefix.empty() && request.output_segment == 0) return;
  const RequestBlocks next(request, options_.block_tokens, holder.path.blocks, blocks);
  tree_.extend(holder.path, next, private_too, free_);
}

void PagedKv::take(BlockCount blocks) {
  HEADROOM_CHECK(blocks >= 0, "fewer blocks than none are taken");
  // A second tier must know of blocks without identity too.
  if (tells_of_overwritten() || !free_.try_take_nameless(blocks)) take_blocks(blocks);
  update_free();
}

[[gnu::noinline]] void PagedKv::take_blocks(BlockCount blocks) {
  free_.take(blocks, [this](PrefixTree::Index owner, BlockCount n) {
    if (owner != FreeList::kNobody) return evict(owner, n);
    if (tells_of_overwritten()) tier_->store_nameless(n);
  });
}

[[gnu::noinline]] void PagedKv::evict(PrefixTree::Index owner, BlockCount blocks) {
  if ((owner & WindowBlocks::kOwnerBit) != 0) return window_blocks_.evict(owner, blocks);
  if (tells_of_overwritten()) {
    if (tree_.is_tip(owner)) {
      tier_->store_nameless(blocks);
    } else {
      tier_->store(tree_.end_of(owner, blocks));
    }
  }
  tree_.evict(owner, blocks, free_);
}

void PagedKv::release(RequestId id, const Request& request, TokenCount held_tokens, KvRelease how,
                      TokenCount unnamed_tokens) {
  if (held_tokens == 0) return give_up_waiting(id, request);
  HEADROOM_CHECK(id < held_.size() && held_[id].blocks > 0, "a request gives its KV back twice");
  Holder& holder = held_[id];
  give_up_step_blocks(id);
  if (options_.reserve_final) [[unlikely]] {
    release_prompt(holder, request, held_tokens);
  } else {
    release_path(id, request, held_tokens, held_tokens - unnamed_tokens, how);
  }
  HEADROOM_CHECK(free_.size() <= pool_.total_blocks, "more blocks given back than were taken");
  holder = {};
  update_pool();
}

// Last block first (ENGINES.md 2.1): the partly filled one, those that cannot be found, the path;
// then the windows and states.
void PagedKv::release_path(RequestId id, const Request& request, TokenCount held_tokens,
                           TokenCount named_tokens, KvRelease how) {
  Holder& holder = held_[id];
  const bool private_too = how != KvRelease::finished;
  const TokenCount tokens = std::max(held_tokens, holder.tokens);
  BlockCount blocks = std::max(holder.blocks, block_.needed(held_tokens));
  if (holder.is_fork && !forks_.leave(request)) [[unlikely]] {
    blocks -= forks_.blocks(request);
  }
  BlockCount hashed = 0;
  if (shares_) {
    hashed = holder.known_full;
    if (how != KvRelease::dropped) hashed = std::max(hashed, block_.full(named_tokens));
    lengthen_path(holder, request, hashed, private_too);
    if (rarely(options_.tier.write_through)) write_through(holder, request, hashed);
  }
  const BlockCount path = holder.path.blocks;
  HEADROOM_CHECK(path <= hashed && hashed <= blocks, "more full blocks than are held");
  // It may have found fewer of its own blocks than there were: where a window was not known.
  if (rarely(request.preemptions > 0) && shares_ && !private_too) {
    forget_private(request);
  }
  // A block that others may begin with is right after the path. A dropped request makes nothing
  // known.
  parts_.clear();
  const bool told = how != KvRelease::dropped;
  if (rarely(options_.partial_reuse) && shares_ && told && path < blocks) {
    const TokenCount begin = path * options_.block_tokens;
    public_parts(request, begin, std::min(named_tokens, begin + options_.block_tokens), parts_);
  }
  const BlockCount tip = parts_.empty() ? 0 : 1;
  const BlockCount nameless = std::max<BlockCount>(0, hashed - path - tip);
  free_.put_plain(every(blocks - path - tip - nameless));
  free_.put_hashed(every(nameless));
  if (tip > 0) tree_.put_tip(holder.path.deepest, parts_, free_);
  tree_.release(holder.path, !private_too, free_);
  if (moves_windows()) [[unlikely]] {
    window_blocks_.release(id, request, tokens, hashed, private_too);
    free_.put_hashed(sequence().states());
  } else if (shares_) {
    free_.put_hashed(sequence().beside(tokens));
  } else {
    free_.put_plain(sequence().beside(tokens));
  }
}

// The prompt becomes known now, as far as it was computed.
void PagedKv::release_prompt(const Holder& holder, const Request& request, TokenCount held_tokens) {
  if (!shares_ || request.prompt_logprobs) return free_.put_plain(holder.blocks);
  const TokenCount computed = std::min<TokenCount>(held_tokens, request.prompt_tokens);
  const BlockCount full = block_.full(computed);
  PrefixTree::Match& known = lookup_.match;
  lookup_.id = kNoRequest;
  tree_.match(RequestBlocks(request, options_.block_tokens, 0, full), known);
  HEADROOM_CHECK(holder.path.blocks <= known.blocks && full <= holder.blocks,
                 "a path that is held was forgotten");
  PrefixTree::Path path = tree_.hold(known, known.blocks, free_);
  tree_.release(holder.path, false, free_);  // which the new path begins with
  tree_.extend(path, RequestBlocks(request, options_.block_tokens, known.blocks, full), false,
               free_);
  const BlockCount copies = known.blocks - holder.path.blocks;
  free_.put_plain(holder.blocks - full + copies);
  free_.put_hashed(full - path.blocks);  // text that no other request has
  tree_.release(path, false, free_);
}

// A request that waits holds nothing, but may have been preempted, and then has private blocks that
// only it would find again.
void PagedKv::give_up_waiting(RequestId id, const Request& request) {
  HEADROOM_CHECK(id >= held_.size() || held_[id].blocks == 0, "a waiting request holds blocks");
  if (shares_) forget_private(request);
}

void PagedKv::forget_private(const Request& request) {
  tree_.match(RequestBlocks(request, options_.block_tokens, 0, kAllBlocks), lookup_.match);
  lookup_.id = kNoRequest;
  tree_.forget_private(lookup_.match, free_);
}

void PagedKv::on_engine_lost() {
  free_ = FreeList(options_.blocks, options_.plain_to_front);
  tree_ = tree_of(options_);
  window_blocks_.clear();
  if (tier_) tier_->on_engine_lost();
  forks_.on_engine_lost();
  held_.clear();
  computing_.clear();
  traffic_ = {};
  pool_.step_blocks = 0;
  lookup_ = {};
  update_pool();
}

void PagedKv::update_pool() {
  update_free();
  pool_.shared_blocks =
      tree_.shared_blocks() + forks_.shared_blocks() + window_blocks_.shared_ids();
}

void PagedKv::update_free() {
  pool_.free_blocks = pool_.largest_hole = free_.size();
  pool_.cached_blocks = free_.hashed();
  if (options_.plain_to_front) return;  // then all are in order
  const FreeList::Front front = free_.front();
  pool_.mixed_blocks = free_.size() - front.plain - front.hashed;
  pool_.mixed_plain = pool_.mixed_blocks - (free_.hashed() - front.hashed);
}

}  // namespace headroom
