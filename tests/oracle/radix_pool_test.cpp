// A pool that sets aside against TGI's radix allocator with single blocks found by their whole text
// (ENGINES.md 2.7): a sorted map from every known text of full blocks to its last block.

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "scheduler/kv/paged.hpp"
#include "sim/serving/kv_layout.hpp"

namespace headroom::test::radix_pool_test {
namespace {

using Text = std::vector<std::uint64_t>;  // one id a token

class NaiveRadixPool {
 public:
  NaiveRadixPool(BlockCount total, std::int32_t block) : total_(total), block_(block) {}

  [[nodiscard]] TokenCount found(const Text& prompt) const {
    const BlockCount most = static_cast<BlockCount>(prompt.size()) / block_;
    BlockCount blocks = 0;
    while (blocks < most && known_.contains(first(prompt, blocks + 1))) ++blocks;
    return std::min(blocks * block_, static_cast<TokenCount>(prompt.size()) - 1);
  }

  // Blocks of the prompt's beginning are held with others; all else is new.
  bool allocate(const Text& prompt, BlockCount whole) {
    const BlockCount shared = blocks_needed(found(prompt), block_);
    for (BlockCount i = 1; i <= shared; ++i) ++known_.at(first(prompt, i)).holders;
    const bool fits = whole - shared <= free_blocks();
    if (fits) own_ += whole - shared;
    const BlockCount keep = total_ - own_ - held_known();
    while (fits ? cached_blocks() > keep : cached_blocks() > 0) evict();
    for (BlockCount i = 1; i <= shared && !fits; ++i) --known_.at(first(prompt, i)).holders;
    return fits;
  }

  void free(const Text& prompt, TokenCount computed, BlockCount whole, BlockCount shared) {
    ++time_;
    own_ -= whole - shared;
    for (BlockCount i = 1; i <= shared; ++i) --known_.at(first(prompt, i)).holders;
    const auto learned = std::min(computed, static_cast<TokenCount>(prompt.size())) / block_;
    for (BlockCount i = 1; i <= learned; ++i) known_[first(prompt, i)].used = time_;
  }

  [[nodiscard]] BlockCount free_blocks() const { return total_ - own_ - held_known(); }
  [[nodiscard]] BlockCount cached_blocks() const {
    return static_cast<BlockCount>(known_.size()) - held_known();
  }
  [[nodiscard]] BlockCount shared_blocks() const {
    BlockCount more = 0;
    for (const auto& [text, block] : known_) more += std::max(0, block.holders - 1);
    return more;
  }

 private:
  struct Block {
    int holders = 0;
    std::uint64_t used = 0;
  };

  [[nodiscard]] Text first(const Text& prompt, BlockCount blocks) const {
    return Text(prompt.begin(), prompt.begin() + blocks * block_);
  }
  [[nodiscard]] BlockCount held_known() const {
    return std::ranges::count_if(known_,
                                 [](const auto& entry) { return entry.second.holders > 0; });
  }
  // The least recently used block that nothing follows. Of those that were used together, the last.
  void evict() {
    auto oldest = known_.end();
    for (auto it = known_.begin(); it != known_.end(); ++it) {
      if (it->second.holders > 0) continue;
      if (oldest == known_.end() || it->second.used < oldest->second.used ||
          (it->second.used == oldest->second.used && it->first.size() > oldest->first.size())) {
        oldest = it;
      }
    }
    known_.erase(oldest);
  }

  BlockCount total_;
  std::int32_t block_;
  BlockCount own_ = 0;  // blocks whose content nobody knows yet
  std::uint64_t time_ = 0;
  std::map<Text, Block> known_;
};

struct Running {
  Request request;
  std::vector<PrefixSegment> pieces;
  Text prompt;
  RequestId id = 0;
  TokenCount cached = 0;
  BlockCount whole = 0;
  std::int32_t output = 0;
};

class Comparison {
 public:
  Comparison(std::uint32_t seed, std::int32_t block, BlockCount blocks)
      : random_(seed),
        block_(block),
        pool_({.blocks = blocks, .block_tokens = block, .reserve_final = true}),
        naive_(blocks, block) {}

  void step() {
    if (running_.size() < 12 && below(2) == 0) {
      admit();
    } else if (!running_.empty()) {
      leave(static_cast<std::size_t>(below(static_cast<std::int32_t>(running_.size()))));
    }
    REQUIRE(pool_.pool().free_blocks == naive_.free_blocks());
    REQUIRE(pool_.pool().cached_blocks == naive_.cached_blocks());
    REQUIRE(pool_.pool().shared_blocks == naive_.shared_blocks());
  }

  [[nodiscard]] int hits() const { return hits_; }
  [[nodiscard]] int refusals() const { return refusals_; }

 private:
  std::int32_t below(std::int32_t n) {
    return static_cast<std::int32_t>(random_() % static_cast<std::uint32_t>(n));
  }

  // Up to three pieces of few lengths, then text of its own.
  Running draw() {
    Running r;
    r.request.index = next_index_++;
    for (std::int32_t left = below(4); left > 0; --left) {
      const std::int32_t id = 1 + below(3);
      r.pieces.push_back({static_cast<std::uint64_t>(id), 3 * id + below(2) * block_});
      for (std::int32_t i = 0; i < r.pieces.back().tokens; ++i) {
        r.prompt.push_back(mixed_id(static_cast<std::uint64_t>(id), static_cast<std::uint64_t>(i)));
      }
    }
    const std::int32_t own = r.prompt.empty() ? 1 + below(9) : below(2) * below(9);
    for (std::int32_t i = 0; i < own; ++i) {
      r.prompt.push_back(mixed_id(1000 + r.request.index, static_cast<std::uint64_t>(i)));
    }
    r.request.prompt_tokens = r.request.known_tokens = static_cast<std::int32_t>(r.prompt.size());
    r.output = 1 + below(20);
    r.whole = blocks_needed(r.request.prompt_tokens + r.output, block_);
    return r;
  }

  void admit() {
    Running r = draw();
    r.request.prefix = r.pieces;
    r.id = free_id();
    r.cached = pool_.cached_prefix(r.id, r.request);
    REQUIRE(r.cached == naive_.found(r.prompt));
    const bool fits =
        pool_.try_grow({.id = r.id,
                        .request = &r.request,
                        .cached_tokens = r.cached,
                        .hold_tokens = r.request.prompt_tokens,
                        .final_tokens = TokenCount{r.request.prompt_tokens} + r.output});
    REQUIRE(fits == naive_.allocate(r.prompt, r.whole));
    if (!fits) ++refusals_;
    if (!fits) return;
    if (r.cached > 0) ++hits_;
    running_.push_back(std::move(r));
  }

  // Finished, or given up after any part of its prompt.
  void leave(std::size_t place) {
    Running& r = running_[place];
    r.request.prefix = r.pieces;
    const std::int32_t prompt = r.request.prompt_tokens;
    const auto least = static_cast<std::int32_t>(r.cached) + 1;
    const bool given_up = below(5) == 0;
    const TokenCount held = given_up ? least + below(prompt - least + 1) : prompt + below(r.output);
    pool_.release(r.id, r.request, held, given_up ? KvRelease::dropped : KvRelease::finished);
    naive_.free(r.prompt, held, r.whole, blocks_needed(r.cached, block_));
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(place));
  }

  [[nodiscard]] RequestId free_id() const {
    RequestId id = 0;
    while (std::ranges::count(running_, id, &Running::id) > 0) ++id;
    return id;
  }

  std::mt19937 random_;
  std::int32_t block_;
  PagedKv pool_;
  NaiveRadixPool naive_;
  std::vector<Running> running_;
  std::uint64_t next_index_ = 0;
  int hits_ = 0;
  int refusals_ = 0;
};

TEST_CASE("a pool that sets aside equals a radix allocator of single blocks") {
  const auto block = GENERATE(1, 4, 16);
  int hits = 0;
  int refusals = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(block, seed);
    const BlockCount tokens = seed % 3 == 0 ? 1600 : 80 + 8 * static_cast<BlockCount>(seed);
    Comparison comparison(seed, block, tokens / block);
    for (int i = 0; i < 300; ++i) comparison.step();
    hits += comparison.hits();
    refusals += comparison.refusals();
  }
  CHECK(hits > 500);
  CHECK(refusals > 200);
}

}  // namespace
}  // namespace headroom::test::radix_pool_test
