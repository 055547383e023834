// VERIFICATION C16 (hit rate of equally likely prefixes), V2e (a list-scan cache) and V4 (hits of
// LRU grow with capacity; no policy beats the offline optimum), for the sequential prefix replay.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/kernel/det_math.hpp"
#include "sim/kernel/random.hpp"
#include "workloads/prefix_replay.hpp"

namespace headroom::laws::prefix_cache_law_test {
namespace {

using Prompt = std::vector<PrefixSegment>;
using Hits = std::vector<std::int64_t>;
using Options = PrefixReplayOptions;

constexpr auto kLru = PrefixEviction::lru;
constexpr auto kFifo = PrefixEviction::fifo;
constexpr auto kRandom = PrefixEviction::random;
constexpr auto kRootOldest = PrefixTouch::root_oldest;
constexpr auto kLeafOldest = PrefixTouch::leaf_oldest;

std::int32_t tokens_of(const Prompt& prompt) {
  std::int32_t sum = 0;
  for (const PrefixSegment& piece : prompt) sum += piece.tokens;
  return sum;
}

std::int64_t add(PrefixReplay& replay, const Prompt& prompt) {
  return replay.add(std::max(tokens_of(prompt), 1), prompt);
}

Hits hits_of(const Options& options, const std::vector<Prompt>& prompts) {
  PrefixReplay replay(options);
  Hits hits;
  for (const Prompt& prompt : prompts) hits.push_back(add(replay, prompt));
  return hits;
}

// --- C16 ----------------------------------------------------------------------------------------

struct EqualPrefixes {
  PrefixEviction eviction = kLru;
  std::int64_t capacity = 200;         // prefixes
  std::int32_t blocks_per_prefix = 1;  // of one token
};

// A full pool holds `capacity` of 1000 equally likely prefixes, whatever came before: so each
// request hits with chance p = capacity/1000, independently of all others, and the share of hits
// among n has the standard error sqrt(p (1 - p) / n). Returned: its distance from .2 in these.
double errors_from_one_fifth(const EqualPrefixes& law) {
  constexpr std::int64_t kWarmUp = 5'000;  // fills the pool: 250 different ones come within 300
  constexpr std::int64_t kCounted = 400'000;
  const std::int32_t blocks = law.blocks_per_prefix;
  PrefixReplay replay({.block_tokens = 1,
                       .capacity_blocks = law.capacity * blocks,
                       .eviction = law.eviction,
                       .touch = kLeafOldest,
                       .seed = 5});
  RandomStream popularity(16, "popularity");
  std::int64_t hits = 0;
  for (std::int64_t i = 0; i < kWarmUp + kCounted; ++i) {
    const auto id = static_cast<std::uint64_t>(popularity.uniform_int(1, 1000));
    const std::int64_t hit = add(replay, {{id, blocks}});
    if (i >= kWarmUp && hit == blocks) ++hits;
  }
  CHECK(replay.resident_blocks() == law.capacity * blocks);
  const double share = static_cast<double>(hits) / static_cast<double>(kCounted);
  return (share - 0.2) / det::sqrt(0.2 * 0.8 / static_cast<double>(kCounted));
}

TEST_CASE("law: a pool of 200 of 1000 equally popular prefixes hits one fifth of the time") {
  for (const PrefixEviction eviction : {kLru, kFifo, kRandom}) {
    CHECK(std::abs(errors_from_one_fifth({.eviction = eviction})) < 4.0);
  }
  // With several blocks each: lru and fifo let whole prefixes go, random does not.
  for (const PrefixEviction eviction : {kLru, kFifo}) {
    CHECK(std::abs(errors_from_one_fifth({.eviction = eviction, .blocks_per_prefix = 3})) < 4.0);
  }
}

TEST_CASE("the law of equal prefixes refuses a pool of 250") {
  for (const PrefixEviction eviction : {kLru, kFifo, kRandom}) {
    CHECK(errors_from_one_fifth({.eviction = eviction, .capacity = 250}) > 50.0);
  }
}

// --- a cache from the definition ----------------------------------------------------------------

// A token by its piece and its place therein: the tokens of a prompt say where its pieces begin.
using Tokens = std::vector<std::pair<std::uint64_t, std::int32_t>>;

// Blocks are named by all tokens up to their end, kept in one list, oldest first, and looked for
// from its beginning. No keys, no numbers.
class ListScanCache {
 public:
  explicit ListScanCache(const Options& options) : options_(options) {}

  std::int64_t add(const Prompt& prompt) {
    std::vector<Tokens> blocks = blocks_of(prompt);
    const auto is_new = [&](const Tokens& block) { return find(block) == list_.end(); };
    const std::int64_t hit = std::ranges::find_if(blocks, is_new) - blocks.begin();
    if (options_.touch == kLeafOldest) std::ranges::reverse(blocks);
    for (Tokens& block : blocks) {
      seen_.insert(block);
      const auto found = find(block);
      if (found != list_.end() && options_.eviction == kFifo) continue;
      if (found != list_.end()) list_.erase(found);
      list_.push_back(std::move(block));
    }
    while (options_.capacity_blocks &&
           static_cast<std::int64_t>(list_.size()) > *options_.capacity_blocks) {
      list_.erase(list_.begin());
      ++evictions_;
    }
    return hit;
  }

  [[nodiscard]] std::int64_t evictions() const { return evictions_; }
  [[nodiscard]] auto resident() const { return static_cast<std::int64_t>(list_.size()); }
  [[nodiscard]] auto distinct() const { return static_cast<std::int64_t>(seen_.size()); }

 private:
  [[nodiscard]] std::vector<Tokens> blocks_of(const Prompt& prompt) const {
    Tokens so_far;
    std::vector<Tokens> blocks;
    for (const PrefixSegment& piece : prompt) {
      for (std::int32_t place = 0; place < piece.tokens; ++place) {
        so_far.emplace_back(piece.id, place);
        if (so_far.size() % static_cast<std::size_t>(options_.block_tokens) == 0) {
          blocks.push_back(so_far);
        }
      }
    }
    const bool ends_full = so_far.size() % static_cast<std::size_t>(options_.block_tokens) == 0;
    if (options_.count_partial && !ends_full) blocks.push_back(so_far);
    return blocks;
  }
  [[nodiscard]] std::vector<Tokens>::iterator find(const Tokens& block) {
    return std::ranges::find(list_, block);
  }

  Options options_;
  std::vector<Tokens> list_;
  std::set<Tokens> seen_;
  std::int64_t evictions_ = 0;
};

// Few ids, short pieces, heads of earlier prompts: so that prompts share much, seams fall anywhere,
// and pools overflow.
struct RandomCase {
  Options options;
  std::vector<Prompt> prompts;
};
Prompt random_prompt(RandomStream& random, const std::vector<Prompt>& earlier) {
  Prompt prompt;
  if (!earlier.empty() && random.uniform_int(0, 3) > 0) {
    const std::int64_t last = static_cast<std::int64_t>(earlier.size()) - 1;
    prompt = earlier[static_cast<std::size_t>(random.uniform_int(0, last))];
    const auto pieces = static_cast<std::int64_t>(prompt.size());
    prompt.resize(static_cast<std::size_t>(random.uniform_int(0, pieces)));
  }
  const std::int64_t more = random.uniform_int(0, 3);
  for (std::int64_t i = 0; i < more; ++i) {
    const auto id = static_cast<std::uint64_t>(random.uniform_int(0, 2));
    prompt.push_back({id, static_cast<std::int32_t>(random.uniform_int(1, 6))});
  }
  return prompt;
}
RandomCase random_case(std::uint64_t seed) {
  RandomStream random(seed, "prefix cases");
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return random.uniform_int(low, high);
  };
  RandomCase result;
  result.options.block_tokens = static_cast<std::int32_t>(draw(1, 5));
  const std::int64_t capacity = draw(-1, 20);
  if (capacity >= 0) result.options.capacity_blocks = capacity;
  result.options.eviction = draw(0, 2) == 0 ? kFifo : kLru;
  result.options.touch = draw(0, 1) == 0 ? kRootOldest : kLeafOldest;
  result.options.count_partial = draw(0, 1) == 1;
  const std::int64_t count = draw(1, 40);
  for (std::int64_t i = 0; i < count; ++i) {
    result.prompts.push_back(random_prompt(random, result.prompts));
  }
  return result;
}

// The replay with options as `change` leaves them against the list with the case's own: seed of the
// first case in which they differ, 0 when none does.
std::uint64_t first_difference(std::uint64_t cases, const std::function<void(Options&)>& change) {
  std::int64_t hits = 0;
  std::int64_t evictions = 0;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    const RandomCase random = random_case(seed);
    ListScanCache list(random.options);
    Options changed = random.options;
    change(changed);
    PrefixReplay replay(changed);
    for (const Prompt& prompt : random.prompts) {
      const std::int64_t hit = list.add(prompt);
      hits += hit;
      if (add(replay, prompt) != hit || replay.resident_blocks() != list.resident()) return seed;
    }
    evictions += list.evictions();
    const PrefixReplayTotals& totals = replay.totals();
    if (totals.evictions != list.evictions()) return seed;
    if (totals.distinct_blocks != list.distinct()) return seed;
  }
  CHECK(hits > 10 * static_cast<std::int64_t>(cases));  // it is no law about empty caches
  CHECK(evictions > 10 * static_cast<std::int64_t>(cases));
  return 0;
}

TEST_CASE("oracle: the replay hits what a list-scan cache hits, request by request") {
  CHECK(first_difference(4000, [](Options&) {}) == 0);
}

TEST_CASE("the list-scan cache refuses every option that is not its own") {
  CHECK(first_difference(4000, [](Options& o) {
          o.touch = o.touch == kRootOldest ? kLeafOldest : kRootOldest;
        }) != 0);
  CHECK(first_difference(4000, [](Options& o) { o.eviction = kLru; }) != 0);
  CHECK(first_difference(4000, [](Options& o) { o.count_partial = true; }) != 0);
  CHECK(first_difference(4000, [](Options& o) {
          if (o.capacity_blocks) ++*o.capacity_blocks;
        }) != 0);
}

TEST_CASE("law: root_oldest hits what a cache of single objects hits, which evicts at once") {
  std::int64_t hits = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    RandomCase random = random_case(seed);
    random.options.eviction = kLru;
    random.options.touch = kRootOldest;
    random.options.block_tokens = 1;  // so that a place in a prompt is a block
    PrefixReplay objects(random.options);
    Hits object_hits;
    for (const Prompt& prompt : random.prompts) {
      std::uint64_t chain = 0;
      std::int64_t sum = 0;
      for (const PrefixSegment& piece : prompt) {
        for (std::int32_t place = 0; place < piece.tokens; ++place) {
          const std::uint64_t name = piece.id * 100 + static_cast<std::uint64_t>(place);
          chain = mixed_id(chain, name);
          sum += add(objects, {{chain, 1}});
        }
      }
      object_hits.push_back(sum);
      hits += sum;
    }
    INFO("seed " << seed);
    REQUIRE(hits_of(random.options, random.prompts) == object_hits);
  }
  CHECK(hits > 20'000);
}

// --- inclusion ----------------------------------------------------------------------------------

// Whether no request of any random case hits less in a pool that is one block larger.
bool hits_grow_with_capacity(PrefixEviction eviction) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    RandomCase random = random_case(seed);
    random.options.eviction = eviction;
    Hits smaller(random.prompts.size(), 0);
    for (std::int64_t capacity = 0; capacity <= 20; ++capacity) {
      random.options.capacity_blocks = capacity;
      Hits larger = hits_of(random.options, random.prompts);
      if (!std::ranges::equal(smaller, larger, std::ranges::less_equal{})) return false;
      smaller = std::move(larger);
    }
    random.options.capacity_blocks = std::nullopt;
    const Hits all = hits_of(random.options, random.prompts);
    if (!std::ranges::equal(smaller, all, std::ranges::less_equal{})) return false;
  }
  return true;
}

TEST_CASE("law: under lru every request hits at least as much in a larger pool") {
  CHECK(hits_grow_with_capacity(kLru));
}

TEST_CASE("the law of inclusion refuses fifo, which is known to break it") {
  CHECK_FALSE(hits_grow_with_capacity(kFifo));
  // Belady, Nelson and Shedler (1969): nine faults with three frames, ten with four.
  std::vector<Prompt> prompts;
  for (const int id : {1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5}) {
    prompts.push_back({{static_cast<std::uint64_t>(id), 1}});
  }
  const auto hits = [&](std::int64_t capacity) {
    const Hits all =
        hits_of({.block_tokens = 1, .capacity_blocks = capacity, .eviction = kFifo}, prompts);
    return std::ranges::count(all, 1);
  };
  CHECK(hits(3) == 12 - 9);
  CHECK(hits(4) == 12 - 10);
}

// --- the offline optimum ------------------------------------------------------------------------

// Belady's rule for single blocks: of those in the pool and the one just used, the one whose next
// use is furthest away leaves.
std::int64_t optimal_hits(const std::vector<std::uint64_t>& ids, std::size_t capacity) {
  std::vector<std::uint64_t> pool;
  std::int64_t hits = 0;
  for (auto now = ids.begin(); now != ids.end(); ++now) {
    if (std::ranges::find(pool, *now) != pool.end()) {
      ++hits;
    } else {
      pool.push_back(*now);
    }
    if (pool.size() <= capacity) continue;
    const auto next_use = [&](std::uint64_t id) { return std::find(now + 1, ids.end(), id); };
    pool.erase(std::ranges::max_element(pool, {}, next_use));
  }
  return hits;
}

TEST_CASE("law: no policy hits more often than eviction that knows the future") {
  std::int64_t ahead = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    RandomStream random(seed, "references");
    std::vector<std::uint64_t> ids(60);
    for (std::uint64_t& id : ids) id = static_cast<std::uint64_t>(random.uniform_int(0, 9));
    std::vector<Prompt> prompts;
    prompts.reserve(ids.size());
    for (const std::uint64_t id : ids) prompts.push_back({{id, 1}});
    const std::int64_t capacity = random.uniform_int(0, 10);
    const std::int64_t best = optimal_hits(ids, static_cast<std::size_t>(capacity));
    for (const PrefixEviction eviction : {kLru, kFifo, kRandom}) {
      PrefixReplay replay({.block_tokens = 1, .capacity_blocks = capacity, .eviction = eviction});
      for (const Prompt& prompt : prompts) (void)add(replay, prompt);
      INFO("seed " << seed);
      REQUIRE(replay.totals().hit_blocks <= best);
      ahead += best - replay.totals().hit_blocks;
    }
  }
  CHECK(ahead > 0);
}

}  // namespace
}  // namespace headroom::laws::prefix_cache_law_test
