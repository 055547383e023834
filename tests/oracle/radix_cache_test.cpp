// RadixKv against SGLang's radix cache written token by token (docs/semantics/sglang.md 16, "The
// cache"): a list of nodes, each with all of its tokens, that every search goes through.

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <vector>

#include "scheduler/kv/radix.hpp"
#include "sim/serving/kv_layout.hpp"

namespace headroom::test::radix_cache_test {
namespace {

using Text = std::vector<std::uint64_t>;  // one id a token

class NaiveCache {
 public:
  NaiveCache(BlockCount total, std::int32_t page, bool evicts_all)
      : total_(total), page_(page), evicts_all_(evicts_all), nodes_(1) {}

  struct End {
    std::size_t node = 0;
    TokenCount tokens = 0;
  };

  // match_prefix
  End find(const Text& text) {
    End end;
    const std::int64_t now = ++clock_;
    while (const std::size_t next = child(end.node, text, end.tokens)) {
      nodes_[next].last_use = now;
      const TokenCount equal = common(next, text, end.tokens);
      end.tokens += equal;
      if (equal < size_of(next)) return {split(next, equal), end.tokens};
      end.node = next;
    }
    return end;
  }
  // insert
  End enter(const Text& text) {
    const End end = find(text);
    if (end.tokens == static_cast<TokenCount>(text.size())) return end;
    nodes_.push_back({Text(text.begin() + end.tokens, text.end()), end.node, 0, ++clock_});
    return {nodes_.size() - 1, end.tokens};
  }
  void lock(std::size_t node, int more) {
    for (; node != 0; node = nodes_[node].parent) nodes_[node].locks += more;
  }

  // evict_from_tree_cache
  void evict_for(TokenCount wanted) {
    const TokenCount available = plain() * page_;
    if (available >= wanted) return;
    const TokenCount amount = evicts_all_ ? wanted : wanted - available;
    for (TokenCount gone = 0; gone < amount;) {
      std::size_t oldest = 0;
      for (std::size_t i = 1; i < nodes_.size(); ++i) {
        const bool leaf = !nodes_[i].gone && nodes_[i].locks == 0 && !has_children(i);
        if (leaf && (oldest == 0 || nodes_[i].last_use < nodes_[oldest].last_use)) oldest = i;
      }
      if (oldest == 0) return;
      gone += size_of(oldest);
      nodes_[oldest].gone = true;
    }
  }

  [[nodiscard]] BlockCount plain() const { return total_ - own - tokens_where(0, 1000) / page_; }
  [[nodiscard]] BlockCount evictable() const { return tokens_where(0, 0) / page_; }
  [[nodiscard]] BlockCount shared() const {
    TokenCount tokens = 0;
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      if (!nodes_[i].gone) tokens += size_of(i) * std::max(0, nodes_[i].locks - 1);
    }
    return tokens / page_;
  }

  BlockCount own = 0;  // blocks of requests outside of the tree

 private:
  struct Node {
    Text key;
    std::size_t parent = 0;
    int locks = 0;
    std::int64_t last_use = 0;
    bool gone = false;
  };

  [[nodiscard]] TokenCount size_of(std::size_t node) const {
    return static_cast<TokenCount>(nodes_[node].key.size());
  }
  [[nodiscard]] TokenCount tokens_where(int least, int most) const {
    TokenCount tokens = 0;
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      if (!node.gone && node.locks >= least && node.locks <= most) tokens += size_of(i);
    }
    return tokens;
  }
  [[nodiscard]] bool has_children(std::size_t parent) const {
    return std::any_of(nodes_.begin() + 1, nodes_.end(),
                       [&](const Node& n) { return !n.gone && n.parent == parent; });
  }
  // Whole pages that a node and a text have in common, behind `from` tokens of the text.
  [[nodiscard]] TokenCount common(std::size_t node, const Text& text, TokenCount from) const {
    const Text& key = nodes_[node].key;
    const auto [a, b] = std::mismatch(key.begin(), key.end(), text.begin() + from, text.end());
    return (a - key.begin()) / page_ * page_;
  }
  [[nodiscard]] std::size_t child(std::size_t parent, const Text& text, TokenCount from) const {
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      if (nodes_[i].gone || nodes_[i].parent != parent) continue;
      if (common(i, text, from) > 0) return i;
    }
    return 0;
  }
  std::size_t split(std::size_t node, TokenCount upper) {
    Node above = nodes_[node];
    above.key.resize(static_cast<std::size_t>(upper));
    above.last_use = ++clock_;
    nodes_[node].key.erase(nodes_[node].key.begin(), nodes_[node].key.begin() + upper);
    nodes_[node].parent = nodes_.size();
    nodes_.push_back(above);
    return nodes_.size() - 1;
  }

  BlockCount total_;
  std::int32_t page_;
  bool evicts_all_;
  std::int64_t clock_ = 0;
  std::vector<Node> nodes_;
};

struct Running {
  Request request;
  std::vector<PrefixSegment> pieces;
  Text text;  // prompt and answer
  RequestId id = 0;
  TokenCount held = 0;
  std::size_t node = 0;  // of the naive cache
  TokenCount path = 0;
};

class Comparison {
 public:
  Comparison(std::uint32_t seed, std::int32_t page, BlockCount blocks)
      : random_(seed),
        page_(page),
        pool_({.blocks = blocks, .block_tokens = page, .evicts_all = seed % 2 == 0}),
        naive_(blocks, page, seed % 2 == 0) {}

  void step() {
    const int what = below(6);
    if (what < 2) {
      admit_batch();
    } else if (what < 4) {
      decode();
    } else if (!running_.empty()) {
      leave(static_cast<std::size_t>(below(static_cast<int>(running_.size()))));
    }
    REQUIRE(pool_.pool().free_blocks == naive_.plain() + naive_.evictable());
    REQUIRE(pool_.pool().cached_blocks == naive_.evictable());
    REQUIRE(pool_.pool().shared_blocks == naive_.shared());
  }

  [[nodiscard]] int hits() const { return hits_; }
  [[nodiscard]] int refusals() const { return refusals_; }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  // Up to three pieces of few lengths, then text of its own, and an answer.
  Running draw() {
    Running r;
    r.request.index = next_index_++;
    for (int left = below(4); left > 0; --left) {
      const int id = 1 + below(3);
      r.pieces.push_back({static_cast<std::uint64_t>(id), 3 * id + below(2) * page_});
      for (std::int32_t i = 0; i < r.pieces.back().tokens; ++i) {
        r.text.push_back(mixed_id(static_cast<std::uint64_t>(id), static_cast<std::uint64_t>(i)));
      }
    }
    const int own = r.text.empty() ? 1 + below(9) : below(2) * below(9);
    r.request.prompt_tokens = static_cast<std::int32_t>(r.text.size()) + own;
    r.request.known_tokens = r.request.prompt_tokens;
    for (int i = 0; i < own + 200; ++i) {
      r.text.push_back(mixed_id(1000 + r.request.index, static_cast<std::uint64_t>(i)));
    }
    return r;
  }
  [[nodiscard]] Text pages(const Running& r, TokenCount tokens) const {
    return Text(r.text.begin(), r.text.begin() + tokens / page_ * page_);
  }

  // Some requests, of which each finds what was there before the batch; then their prompts become
  // known.
  void admit_batch() {
    const std::size_t before = running_.size();
    TokenCount tokens = 0;
    BlockCount blocks = 0;
    for (int i = 1 + below(3); i > 0; --i) admit(tokens, blocks);
    const auto rows = static_cast<TokenCount>(running_.size() - before);
    if (page_ > 1) tokens += rows * page_;
    naive_.own -= blocks;
    if (rows > 0) naive_.evict_for(tokens);
    naive_.own += blocks;
    pool_.take(0);
    for (std::size_t i = before; i < running_.size(); ++i) publish(running_[i]);
  }

  void admit(TokenCount& tokens, BlockCount& blocks) {
    Running r = draw();
    r.request.prefix = r.pieces;
    r.id = free_id();
    const TokenCount prompt = r.request.prompt_tokens;
    const TokenCount cached = pool_.cached_prefix(r.id, r.request);
    const NaiveCache::End found = naive_.find(pages(r, prompt - 1));
    REQUIRE(cached == found.tokens);
    const BlockCount more = blocks_needed(prompt - cached, page_);
    const BlockCount evictable = naive_.evictable();
    naive_.find(pages(r, cached));  // looked up again to be locked
    naive_.lock(found.node, 1);
    const BlockCount free = naive_.plain() + naive_.evictable();
    REQUIRE(evictable >= naive_.evictable());
    const bool fits = pool_.try_grow({.id = r.id,
                                      .request = &r.request,
                                      .cached_tokens = cached,
                                      .hold_tokens = prompt,
                                      .is_unknown = true});
    REQUIRE(fits == (more <= free));
    if (!fits) {
      naive_.lock(found.node, -1);
      ++refusals_;
      return;
    }
    if (cached > 0) ++hits_;
    naive_.own += more;
    tokens += prompt - cached;
    blocks += more;
    r.held = prompt;
    r.node = found.node;
    r.path = cached;
    running_.push_back(std::move(r));
  }

  void enter(Running& r, TokenCount tokens) {
    const Text text = pages(r, tokens);
    const auto size = static_cast<TokenCount>(text.size());
    const NaiveCache::End end = naive_.enter(text);
    naive_.lock(end.node, 1);
    naive_.lock(r.node, -1);
    naive_.own -= (size - r.path) / page_;
    r.node = end.node;
    r.path = size;
  }

  void publish(Running& r) {
    r.request.prefix = r.pieces;
    REQUIRE(pool_.try_grow({.id = r.id, .request = &r.request, .hold_tokens = r.held}));
    enter(r, r.held);
  }

  void decode() {
    BlockCount blocks = 0;
    for (const Running& r : running_) blocks += r.held % page_ == 0 ? 1 : 0;
    if (blocks == 0 || blocks > naive_.plain() + naive_.evictable()) return;
    naive_.evict_for(std::max(blocks, static_cast<BlockCount>(running_.size())) * page_);
    naive_.own += blocks;
    pool_.take(blocks);
    for (Running& r : running_) ++r.held;
  }

  // Finished, or taken out of the batch for lack of room.
  void leave(std::size_t place) {
    Running& r = running_[place];
    r.request.prefix = r.pieces;
    const bool dropped = below(5) == 0;
    pool_.release(r.id, r.request, r.held, dropped ? KvRelease::dropped : KvRelease::finished);
    if (!dropped) enter(r, r.held);
    naive_.lock(r.node, -1);
    naive_.own -= blocks_needed(r.held, page_) - r.path / page_;
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(place));
  }

  [[nodiscard]] RequestId free_id() const {
    RequestId id = 0;
    while (std::ranges::count(running_, id, &Running::id) > 0) ++id;
    return id;
  }

  std::mt19937 random_;
  std::int32_t page_;
  RadixKv pool_;
  NaiveCache naive_;
  std::vector<Running> running_;
  std::uint64_t next_index_ = 0;
  int hits_ = 0;
  int refusals_ = 0;
};

TEST_CASE("the radix pool equals SGLang's cache written token by token") {
  const auto page = GENERATE(1, 4, 16);
  int hits = 0;
  int refusals = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    CAPTURE(page, seed);
    const BlockCount tokens = seed % 3 == 0 ? 1600 : 80 + 8 * static_cast<BlockCount>(seed);
    Comparison comparison(seed, page, tokens / page);
    for (int i = 0; i < 300; ++i) comparison.step();
    hits += comparison.hits();
    refusals += comparison.refusals();
  }
  CHECK(hits > 500);
  CHECK(refusals > 100);
}

}  // namespace
}  // namespace headroom::test::radix_cache_test
