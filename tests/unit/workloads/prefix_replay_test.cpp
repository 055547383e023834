#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "workloads/prefix_replay.hpp"

namespace headroom::prefix_replay_test {
namespace {

using Pieces = std::vector<PrefixSegment>;

// A prompt that consists of its pieces and nothing else.
std::int64_t add(PrefixReplay& replay, const Pieces& pieces) {
  std::int32_t tokens = 0;
  for (const PrefixSegment& piece : pieces) tokens += piece.tokens;
  return replay.add(tokens, pieces);
}

// Blocks of 10 tokens, each a piece: "abc" is three of them.
Pieces chain(const std::string& letters) {
  Pieces pieces;
  for (const char letter : letters) pieces.push_back({static_cast<std::uint64_t>(letter), 10});
  return pieces;
}
std::vector<std::int64_t> hits(PrefixReplay& replay, std::initializer_list<const char*> prompts) {
  std::vector<std::int64_t> result;
  for (const char* letters : prompts) result.push_back(add(replay, chain(letters)));
  return result;
}
PrefixReplayOptions tens(std::int64_t capacity_blocks, PrefixTouch touch,
                         PrefixEviction eviction = PrefixEviction::lru) {
  return {
      .block_tokens = 10, .capacity_blocks = capacity_blocks, .eviction = eviction, .touch = touch};
}

using Hits = std::vector<std::int64_t>;
constexpr auto kRootOldest = PrefixTouch::root_oldest;
constexpr auto kLeafOldest = PrefixTouch::leaf_oldest;

}  // namespace

TEST_CASE("a hit is the leading blocks an earlier prompt had, up to the first other one") {
  PrefixReplay replay({.block_tokens = 10});
  // "abxd": d stands behind other pieces than before. "bc": so does b.
  CHECK(hits(replay, {"abcd", "abcd", "abxd", "bc", "abxdz"}) == Hits{0, 4, 2, 0, 4});
  CHECK(replay.totals().requests == 5);
  CHECK(replay.totals().blocks == 19);
  CHECK(replay.totals().distinct_blocks == 9);  // abcd; x, d behind it; b, c in front; z
  CHECK(replay.totals().hit_blocks == 10);
  CHECK(replay.totals().requests_with_hit == 3);
  CHECK(replay.totals().max_hit_blocks == 4);
  CHECK(replay.resident_blocks() == 9);
  CHECK(replay.totals().hit_ratio_blocks() == 10.0 / 19.0);
  CHECK(replay.totals().mean_request_ratio() == (0.0 + 1.0 + 0.5 + 0.0 + 0.8) / 5.0);
}

TEST_CASE("pieces of any length are cut into blocks, and a block may hold the seam of two") {
  PrefixReplay replay({.block_tokens = 10});
  CHECK(add(replay, {{1, 25}, {2, 9}}) == 0);  // blocks end at 10, 20 and 30; 4 tokens are left
  CHECK(add(replay, {{1, 25}, {2, 9}}) == 3);
  CHECK(add(replay, {{1, 25}, {3, 9}}) == 2);            // the third has 5 tokens of piece 3
  CHECK(add(replay, {{1, 25}, {2, 5}, {3, 100}}) == 3);  // 2's first 5 tokens end the third
  CHECK(add(replay, {{1, 9}}) == 0);                     // no full block at all
  CHECK(replay.totals().blocks == 3 + 3 + 3 + 13 + 0);
}

TEST_CASE("equal ids of different lengths are equal over the shorter piece, and not further") {
  PrefixReplay replay({.block_tokens = 10});
  CHECK(add(replay, {{1, 40}, {2, 40}}) == 0);
  CHECK(add(replay, {{1, 60}}) == 4);           // 40 tokens are known to be equal
  CHECK(add(replay, {{1, 30}, {2, 50}}) == 3);  // piece 2 starts elsewhere
  CHECK(add(replay, {{1, 60}, {3, 10}}) == 6);
  // Two pieces of one id are not one piece of twice the length.
  CHECK(add(replay, {{1, 20}, {1, 20}}) == 2);
}

TEST_CASE("the end of the pieces is a block where partial blocks count, for equal ends only") {
  PrefixReplay replay({.block_tokens = 10, .count_partial = true});
  const Pieces pieces = {{1, 10}, {2, 4}};
  CHECK(add(replay, pieces) == 0);
  CHECK(add(replay, pieces) == 2);
  CHECK(replay.totals().hit_tokens == 14);
  CHECK(replay.totals().blocks == 4);
  CHECK(add(replay, {{1, 10}, {2, 5}}) == 1);   // one token more than was kept
  CHECK(add(replay, {{1, 10}, {2, 10}}) == 1);  // 6 more: a full block
  CHECK(add(replay, {{1, 10}}) == 1);           // ends with a full block: nothing partial
  CHECK(replay.totals().blocks == 4 + 2 + 2 + 1);
  // The same pieces in front of other tokens: the cap, floor(99 / 10) = 9, leaves both blocks.
  const std::int64_t before = replay.totals().capped_hit_tokens;
  CHECK(replay.add(100, pieces) == 2);
  CHECK(replay.totals().capped_hit_tokens - before == 14);
}

TEST_CASE("tokens without an identity share nothing and are counted as input") {
  PrefixReplay replay({.block_tokens = 10});
  const Pieces pieces = {{1, 20}};
  CHECK(replay.add(100, pieces) == 0);
  CHECK(replay.add(100, pieces) == 2);
  CHECK(replay.add(50, {}) == 0);
  CHECK(replay.totals().input_tokens == 250);
  CHECK(replay.totals().prefix_tokens == 40);
  CHECK(replay.totals().hit_ratio_tokens() == 20.0 / 250.0);
  CHECK(replay.totals().mean_request_ratio() == (0.0 + 1.0 + 0.0) / 3.0);
}

TEST_CASE("capped hits leave at least one token of the prompt to compute") {
  PrefixReplay replay({.block_tokens = 10});
  const Pieces pieces = {{1, 30}};
  CHECK(replay.add(30, pieces) == 0);
  CHECK(replay.add(30, pieces) == 3);  // floor(29 / 10) = 2 are usable
  CHECK(replay.add(31, pieces) == 3);  // floor(30 / 10) = 3
  CHECK(replay.totals().hit_blocks == 6);
  CHECK(replay.totals().capped_hit_blocks == 5);
  CHECK(replay.totals().capped_hit_tokens == 50);
  CHECK(replay.totals().capped_hit_ratio_tokens() == 50.0 / 91.0);
}

TEST_CASE("root_oldest evicts the head of a prompt first, and with it every later hit") {
  PrefixReplay replay(tens(4, kRootOldest));
  // "abc", "xy": a leaves, and with it the way to b and c. "abc": its touches leave x, y, a, b, c
  // in this order, and x leaves.
  CHECK(hits(replay, {"abc", "xy", "abc"}) == Hits{0, 0, 0});
  CHECK(replay.totals().evictions == 2);
  CHECK(add(replay, chain("xy")) == 0);
}

TEST_CASE("leaf_oldest evicts the tail of a prompt first, so its head still hits") {
  PrefixReplay replay(tens(4, kLeafOldest));
  // "abc", "xy": c leaves. "abc": finds a and b; its touches leave y, x, c, b, a, and y leaves.
  CHECK(hits(replay, {"abc", "xy", "abc", "xy"}) == Hits{0, 0, 2, 1});
  CHECK(replay.totals().evictions == 3);
}

TEST_CASE("a prompt longer than the pool keeps its tail or its head") {
  PrefixReplay tail(tens(2, kRootOldest));
  PrefixReplay head(tens(2, kLeafOldest));
  CHECK(hits(tail, {"abcd", "abcd"}) == Hits{0, 0});
  CHECK(hits(head, {"abcd", "abcd"}) == Hits{0, 2});
  CHECK(tail.totals().evictions == 4);  // two each time: all four are in before any leaves
  CHECK(head.totals().evictions == 4);
}

TEST_CASE("lru keeps what was used last, fifo what came last") {
  PrefixReplay lru(tens(2, kRootOldest));
  PrefixReplay fifo(tens(2, kRootOldest, PrefixEviction::fifo));
  // a, b, a again, then c. lru evicts b, fifo evicts a.
  CHECK(hits(lru, {"a", "b", "a", "c", "a"}) == Hits{0, 0, 1, 0, 1});
  CHECK(hits(fifo, {"a", "b", "a", "c", "a"}) == Hits{0, 0, 1, 0, 0});
}

TEST_CASE("a pool of no blocks keeps nothing") {
  for (const PrefixEviction eviction :
       {PrefixEviction::lru, PrefixEviction::fifo, PrefixEviction::random}) {
    PrefixReplay replay(tens(0, kLeafOldest, eviction));
    CHECK(hits(replay, {"abc", "abc"}) == Hits{0, 0});
    CHECK(replay.totals().evictions == 6);
    CHECK(replay.totals().distinct_blocks == 3);
    CHECK(replay.resident_blocks() == 0);
  }
}

TEST_CASE("a pool without end gives the same hits whatever its policy") {
  for (const PrefixEviction eviction :
       {PrefixEviction::lru, PrefixEviction::fifo, PrefixEviction::random}) {
    PrefixReplay replay({.block_tokens = 10, .eviction = eviction});
    CHECK(hits(replay, {"abc", "ab", "abd", "abc"}) == Hits{0, 2, 2, 3});
    CHECK(replay.totals().evictions == 0);
    CHECK(replay.resident_blocks() == 4);
  }
}

TEST_CASE("random eviction repeats with its seed, differs with another, and keeps the pool full") {
  const auto run = [](std::uint64_t seed) {
    PrefixReplayOptions options = tens(3, kLeafOldest, PrefixEviction::random);
    options.seed = seed;
    PrefixReplay replay(options);
    Hits result;
    for (std::uint64_t i = 0; i < 200; ++i) {
      const PrefixSegment piece{i * i % 7, 10};  // 0 1 4 2 2 4 1: four different ones
      result.push_back(replay.add(10, {&piece, 1}));
      const std::int64_t kept = replay.totals().blocks - replay.totals().hit_blocks;
      CHECK(replay.resident_blocks() == kept - replay.totals().evictions);
      CHECK(replay.resident_blocks() <= 3);
    }
    CHECK(replay.resident_blocks() == 3);
    return result;
  };
  CHECK(run(1) == run(1));
  CHECK(run(1) != run(2));
}

TEST_CASE("random eviction takes every block equally often, the request's own included") {
  std::array<int, 4> evicted{};
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    PrefixReplayOptions options = tens(3, kLeafOldest, PrefixEviction::random);
    options.seed = seed;
    PrefixReplay replay(options);
    (void)add(replay, chain("abcd"));
    const std::int64_t first_missing = add(replay, chain("abcd"));
    ++evicted.at(static_cast<std::size_t>(first_missing));
  }
  // Mean 1000, standard error sqrt(4000 * 1/4 * 3/4) = 27.4; within 4 of these.
  for (const int times : evicted) CHECK(std::abs(times - 1000) < 110);
}

TEST_CASE("more blocks than a table begins with are all found again") {
  PrefixReplay replay({.block_tokens = 1});
  const Pieces pieces = {{7, 100'000}};
  CHECK(add(replay, pieces) == 0);
  CHECK(add(replay, pieces) == 100'000);
  CHECK(replay.totals().distinct_blocks == 100'000);
}

TEST_CASE("replays fed in turn are those fed one after another") {
  const std::array<const char*, 6> prompts = {"abcd", "abx", "yz", "abcd", "yzq", "abx"};
  PrefixReplay small(tens(3, kLeafOldest));
  PrefixReplay large(tens(6, kRootOldest));
  for (const char* letters : prompts) {
    (void)add(small, chain(letters));
    (void)add(large, chain(letters));
  }
  PrefixReplay alone(tens(3, kLeafOldest));
  for (const char* letters : prompts) (void)add(alone, chain(letters));
  CHECK(small.totals().hit_blocks == alone.totals().hit_blocks);
  CHECK(small.totals().evictions == alone.totals().evictions);
  CHECK(small.totals().hit_blocks < large.totals().hit_blocks);
}

TEST_CASE("totals of nothing are zero") {
  const PrefixReplay replay({.block_tokens = 16});
  CHECK(replay.totals().requests == 0);
  CHECK(replay.totals().hit_ratio_blocks() == 0.0);
  CHECK(replay.totals().hit_ratio_tokens() == 0.0);
  CHECK(replay.totals().mean_request_ratio() == 0.0);
}

TEST_CASE("options out of range are refused by name and value") {
  CHECK_THROWS_AS(PrefixReplay({.block_tokens = 0}), ConfigError);
  CHECK_THROWS_WITH(PrefixReplay({.block_tokens = -16}),
                    "prefix replay: block_tokens is -16; allowed: at least 1");
  CHECK_THROWS_WITH(PrefixReplay({.capacity_blocks = -1}),
                    "prefix replay: capacity_blocks is -1; allowed: at least 0");
}

TEST_CASE("a prompt that contradicts its pieces is refused and changes nothing") {
  PrefixReplay replay({.block_tokens = 10});
  const Pieces pieces = {{1, 20}};
  const Pieces empty_piece = {{1, 20}, {2, 0}};
  CHECK_THROWS_AS(replay.add(19, pieces), InternalError);
  CHECK_THROWS_AS(replay.add(100, empty_piece), InternalError);
  CHECK_THROWS_AS(replay.add(0, {}), InternalError);
  CHECK(replay.totals().requests == 0);
  CHECK(replay.totals().distinct_blocks == 0);
  CHECK(replay.resident_blocks() == 0);
}

}  // namespace headroom::prefix_replay_test
