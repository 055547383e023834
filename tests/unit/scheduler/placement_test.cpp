// Where a contiguous pool places what, one behaviour each. Equality with single cells:
// tests/oracle/placement_test.cpp.

#include <catch2/catch.hpp>
#include <optional>

#include "scheduler/kv/contiguous.hpp"
#include "scheduler/kv/placement_buddy.hpp"
#include "scheduler/kv/placement_holes.hpp"
#include "sim/kernel/check.hpp"

namespace headroom::placement_test {
namespace {

// A pool whose requests are named by small numbers.
class Pool {
 public:
  Pool(TokenCount tokens, Placement placement, bool compaction = false)
      : kv_({.tokens = tokens, .placement = placement, .compaction = compaction}) {}

  // Address of a new reservation; none where it is refused.
  std::optional<TokenCount> place(RequestId id, TokenCount tokens) {
    if (!kv_.try_grow({.id = id, .hold_tokens = 1, .final_tokens = tokens})) return std::nullopt;
    return kv_.address_of(id);
  }
  void release(RequestId id) { kv_.release(id, Request{}, 1, KvRelease::finished); }
  [[nodiscard]] TokenCount free() const { return kv_.pool().free_blocks; }
  [[nodiscard]] TokenCount largest() const { return kv_.pool().largest_hole; }
  ContiguousKv& kv() { return kv_; }

 private:
  ContiguousKv kv_;
};

// 30 | 10 | 20 | 10 | 30 with the first, third and last free: holes of 30 at 0, 20 at 40, 30 at 70.
Pool with_three_holes(Placement placement) {
  Pool pool(100, placement);
  REQUIRE(pool.place(0, 30) == 0);
  REQUIRE(pool.place(1, 10) == 30);
  REQUIRE(pool.place(2, 20) == 40);
  REQUIRE(pool.place(3, 10) == 60);
  pool.release(0);
  pool.release(2);
  return pool;
}

TEST_CASE("best fit leaves no splinter where first fit cuts a hole that was needed whole") {
  // First fit puts 20 at 0 and leaves 10 + 20 + 30: of two requests of 30 the second finds none.
  Pool first = with_three_holes(Placement::first_fit);
  CHECK(first.place(4, 20) == 0);
  CHECK(first.place(5, 30) == 70);
  CHECK(first.place(6, 30) == std::nullopt);
  CHECK(first.free() == 30);
  CHECK(first.largest() == 20);
  // Best fit fills the hole of 20 and leaves 30 + 30.
  Pool best = with_three_holes(Placement::best_fit);
  CHECK(best.place(4, 20) == 40);
  CHECK(best.place(5, 30) == 0);  // the lowest among equals
  CHECK(best.place(6, 30) == 70);
  CHECK(best.free() == 0);
  CHECK(best.largest() == 0);
}

TEST_CASE("next fit goes on from the last placement and begins again at 0") {
  // The last range ends at 70: 20 goes to 70, not to 0; then 70 .. 90 is taken, and 15 finds
  // only 10 above 90 and goes to 0.
  Pool pool = with_three_holes(Placement::next_fit);
  CHECK(pool.place(4, 20) == 70);
  CHECK(pool.place(5, 15) == 0);
  // Now it goes on at 15, then past the 5 tokens that are left there to 40.
  CHECK(pool.place(6, 10) == 15);
  CHECK(pool.place(7, 10) == 40);
  // A refusal does not move it: next is the rest of the hole at 50.
  CHECK(pool.place(8, 11) == std::nullopt);
  CHECK(pool.place(8, 10) == 50);
  CHECK(pool.place(9, 10) == 90);
}

TEST_CASE("next fit uses the hole that the last placement ended in from its beginning") {
  Pool pool(100, Placement::next_fit);
  REQUIRE(pool.place(0, 20) == 0);
  REQUIRE(pool.place(1, 20) == 20);
  REQUIRE(pool.place(2, 20) == 40);
  pool.release(0);
  pool.release(2);
  CHECK(pool.place(3, 10) == 40);  // holes 0 .. 20 and 40 .. 100; the last range ended at 60
}

TEST_CASE("buddy blocks are powers of two: 25 tokens take 32") {
  Pool pool(128, Placement::buddy);
  CHECK(pool.place(0, 25) == 0);
  CHECK(pool.free() == 96);
  CHECK(pool.kv().rounding_tokens() == 7);  // 32 - 25
  CHECK(pool.largest() == 64);              // 128 was halved into 64 and 32 + 32
  CHECK(pool.place(1, 32) == 32);           // the smallest block that holds it
  CHECK(pool.place(2, 33) == 64);
  CHECK(pool.free() == 0);
  CHECK(pool.kv().rounding_tokens() == 7 + 31);
  CHECK(pool.place(3, 1) == std::nullopt);
}

TEST_CASE("buddies merge back to one block, neighbours that are no buddies do not") {
  // 32 tokens in four blocks of 8; the second and third are neighbours of different parents.
  Pool pool(32, Placement::buddy);
  for (RequestId id = 0; id < 4; ++id) REQUIRE(pool.place(id, 8) == 8 * id);
  pool.release(1);
  pool.release(2);
  CHECK(pool.free() == 16);
  CHECK(pool.largest() == 8);
  CHECK(pool.place(4, 9) == std::nullopt);
  pool.release(3);  // 16 .. 32
  CHECK(pool.largest() == 16);
  pool.release(0);
  CHECK(pool.largest() == 32);
  CHECK(pool.place(4, 32) == 0);
}

TEST_CASE("a buddy pool that is no power of two begins as several blocks") {
  // 100 = 64 + 32 + 4.
  Pool pool(100, Placement::buddy);
  CHECK(pool.free() == 100);
  CHECK(pool.largest() == 64);
  CHECK(pool.place(0, 65) == std::nullopt);
  CHECK(pool.place(0, 5) == 64);  // 8 of the 32, which is the smallest block that holds it
  CHECK(pool.place(1, 4) == 96);
  CHECK(pool.place(2, 33) == 0);
  CHECK(pool.largest() == 16);  // 72 .. 80 and 80 .. 96
  for (RequestId id = 0; id < 3; ++id) pool.release(id);
  CHECK(pool.free() == 100);
  CHECK(pool.largest() == 64);
  CHECK(pool.kv().rounding_tokens() == 0);
}

TEST_CASE("compaction admits what fragmentation refused, and counts what it moved") {
  // 40 | 20 | 30, 10 free; without the first: holes of 40 and 10, and 41 fits in neither.
  for (const Placement placement :
       {Placement::first_fit, Placement::best_fit, Placement::next_fit}) {
    Pool pool(100, placement, true);
    REQUIRE(pool.place(0, 40) == 0);
    REQUIRE(pool.place(1, 20) == 40);
    REQUIRE(pool.place(2, 30) == 60);
    pool.release(0);
    CHECK(pool.largest() == 50);  // all that is free can be had
    CHECK(pool.place(3, 51) == std::nullopt);
    CHECK(pool.kv().take_traffic().moved_tokens == 0);
    CHECK(pool.place(3, 41) == 50);
    CHECK(pool.kv().address_of(1) == 0);
    CHECK(pool.kv().address_of(2) == 20);
    CHECK(pool.kv().take_traffic().moved_tokens == 50);  // 20 + 30
    CHECK(pool.kv().take_traffic().moved_tokens == 0);
    CHECK(pool.place(4, 9) == 91);
  }
}

TEST_CASE("compaction moves nothing while a hole is large enough, nor what lies low already") {
  Pool pool(100, Placement::first_fit, true);
  for (RequestId id = 0; id < 4; ++id) REQUIRE(pool.place(id, 25) == 25 * id);
  pool.release(1);
  CHECK(pool.place(1, 20) == 25);
  pool.release(3);
  CHECK(pool.kv().take_traffic().moved_tokens == 0);
  // Free: 45 .. 50 and 75 .. 100. The first two stay where they are, 25 tokens move down by 5.
  CHECK(pool.place(3, 30) == 70);
  CHECK(pool.kv().take_traffic().moved_tokens == 25);
}

TEST_CASE("buddy blocks are never compacted") {
  CHECK_THROWS_AS(ContiguousKv({.tokens = 64, .placement = Placement::buddy, .compaction = true}),
                  InternalError);
  BuddyPlacement blocks(64);
  CHECK_THROWS_AS(blocks.pack(0), InternalError);
}

TEST_CASE("a range that is given back twice is a bug, not a hole") {
  BuddyPlacement buddy(64);
  REQUIRE(buddy.place(64) == 0);
  buddy.free(0, 64);
  CHECK_THROWS_AS(buddy.free(0, 64), InternalError);
  Holes holes;
  holes.reset(10, 20);
  CHECK_THROWS_AS(holes.give({25, 10}), InternalError);
  CHECK_THROWS_AS(holes.give({5, 10}), InternalError);
}

}  // namespace
}  // namespace headroom::placement_test
