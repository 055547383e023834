#include "sim/serving/decode_set.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/serving/kv_layout.hpp"

namespace headroom::decode_set_test {
namespace {

// The same by looking at every sequence in every step.
struct NaiveSet {
  std::int32_t block = 0;
  std::vector<DecodingRow> rows;

  BlockCount needed(StepCount steps) const {
    if (block == 0) return 0;
    BlockCount sum = 0;
    for (const DecodingRow& row : rows)
      sum += row.ids_per_block *
             (blocks_needed(row.tokens + steps, block) - blocks_needed(row.tokens, block));
    return sum;
  }
  void advance(StepCount steps) {
    for (DecodingRow& row : rows) {
      row.tokens += steps;
      row.kept_beside += (row.ids_per_block - 1) * steps;
    }
  }
  TokenCount kept() const {
    TokenCount sum = 0;
    for (const DecodingRow& row : rows) sum += row.tokens + row.kept_beside;
    return sum;
  }
  StepCount within(BlockCount free, StepCount limit) const {
    StepCount n = 0;
    while (n < limit && needed(n + 1) <= free) ++n;
    return n;
  }
  TokenCount context() const {
    TokenCount sum = 0;
    for (const DecodingRow& row : rows) sum += row.tokens;
    return sum;
  }
};

TEST_CASE("a sequence takes a block in the step after its last one is full", "[decode_set]") {
  DecodeSet set(16);
  set.join(14);                       // holds one block with room for two more tokens
  CHECK(set.blocks_needed(2) == 0);   // 16 tokens: full
  CHECK(set.blocks_needed(3) == 1);   // 17
  CHECK(set.blocks_needed(18) == 1);  // 32
  CHECK(set.blocks_needed(19) == 2);  // 33
  set.advance(2);
  CHECK(set.blocks_needed(1) == 1);
}

TEST_CASE("the context grows by one token per sequence and step", "[decode_set]") {
  DecodeSet set(16);
  set.join(100);
  set.join(7);
  CHECK(set.context_sum() == 107);
  set.advance(5);
  CHECK(set.context_sum() == 117);
  set.leave(12);
  CHECK(set.context_sum() == 105);
  CHECK(set.size() == 1);
}

TEST_CASE("the steps that a pool lasts are the largest number that fits", "[decode_set]") {
  DecodeSet set(4);
  set.join(4);  // needs blocks at steps 1, 5, 9 ...
  set.join(6);  // at steps 3, 7, 11 ...
  CHECK(set.steps_within(0, 100) == 0);
  CHECK(set.steps_within(1, 100) == 2);
  CHECK(set.steps_within(2, 100) == 4);   // exactly one cycle
  CHECK(set.steps_within(5, 100) == 10);  // two cycles and one block more
  CHECK(set.steps_within(5, 7) == 7);
  CHECK(set.steps_within(5, 0) == 0);
}

TEST_CASE("the growth profile tells the blocks of each coming step", "[decode_set]") {
  DecodeSet set(4);
  set.join(3);  // next block at the second step
  set.advance(7);
  set.join(10);  // both have 10 tokens now: at the third
  const auto at = [&set](std::size_t i) { return set.growth()[i % set.growth().size()]; };
  CHECK(at(0) == 0);
  CHECK(at(1) == 0);
  CHECK(at(2) == 2);
  CHECK(at(3) == 0);
}

TEST_CASE("with block size 0 decodes never need memory", "[decode_set]") {
  DecodeSet set(0);
  set.join(5);
  set.advance(3);
  CHECK(set.growth().empty());
  CHECK(set.blocks_needed(1'000'000) == 0);
  CHECK(set.steps_within(0, kManySteps) == kManySteps);
  set.leave(8);
  CHECK(set.size() == 0);
}

TEST_CASE("without sequences, or with no bound, the limit is what remains", "[decode_set]") {
  DecodeSet set(16);
  CHECK(set.steps_within(0, 77) == 77);
  set.join(16);
  CHECK(set.steps_within(BlockCount{1} << 40, kManySteps) == kManySteps);
  // 10^6 blocks of 16 steps each; the next block would be needed at step 16 * 10^6 + 1.
  CHECK(set.steps_within(1'000'000, kManySteps) == 16'000'000);
}

TEST_CASE("a sequence that leaves with a wrong length is a bug", "[decode_set]") {
  DecodeSet set(16);
  CHECK_THROWS_AS(set.leave(3), InternalError);
  set.join(20);
  CHECK_THROWS_AS(set.leave(19), InternalError);
}

TEST_CASE("random batches agree with looking at every sequence", "[decode_set]") {
  std::mt19937_64 random(99);
  for (const std::int32_t block : {0, 1, 2, 3, 16, 17, 64, 100}) {
    DecodeSet set(block);
    NaiveSet naive{.block = block, .rows = {}};
    for (int i = 0; i < 1500; ++i) {
      const auto operation = random() % 4;
      if (operation == 0 && naive.rows.size() < 40) {
        naive.rows.push_back({.tokens = static_cast<TokenCount>(random() % 300),
                              .ids_per_block = static_cast<std::int32_t>(1 + random() % 4),
                              .kept_beside = static_cast<TokenCount>(random() % 300)});
        set.join(naive.rows.back());
      } else if (operation == 1 && !naive.rows.empty()) {
        std::swap(naive.rows[random() % naive.rows.size()], naive.rows.back());
        set.leave(naive.rows.back());
        naive.rows.pop_back();
      } else {
        const auto steps = static_cast<StepCount>(random() % 3 == 0 ? random() % 200 : 1);
        set.advance(steps);
        naive.advance(steps);
      }
      const auto steps = static_cast<StepCount>(random() % 200);
      const auto free = static_cast<BlockCount>(random() % 100);
      REQUIRE(set.size() == static_cast<std::int64_t>(naive.rows.size()));
      REQUIRE(set.kept_sum() == naive.kept());
      REQUIRE(set.context_sum() == naive.context());
      REQUIRE(set.blocks_needed(steps) == naive.needed(steps));
      REQUIRE(set.blocks_needed() == naive.needed(1));
      REQUIRE(set.steps_within(free, steps) == naive.within(free, steps));
    }
  }
}

}  // namespace
}  // namespace headroom::decode_set_test
