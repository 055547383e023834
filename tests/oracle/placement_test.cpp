// VERIFICATION V2(d): every placement against single cells, operation by operation, and the laws
// that hold for all of them.

#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "scheduler/kv/contiguous.hpp"
#include "tests/oracle/address_space.hpp"
#include "tests/support/repetitions.hpp"

namespace headroom::placement_test {
namespace {

constexpr RequestId kRequests = 12;

struct Rule {
  Placement placement;
  oracle::Fit fit;
  bool compaction;
};

constexpr std::array<Rule, 7> kRules{{
    {Placement::first_fit, oracle::Fit::first, false},
    {Placement::best_fit, oracle::Fit::best, false},
    {Placement::next_fit, oracle::Fit::next, false},
    {Placement::buddy, oracle::Fit::buddy, false},
    {Placement::first_fit, oracle::Fit::first, true},
    {Placement::best_fit, oracle::Fit::best, true},
    {Placement::next_fit, oracle::Fit::next, true},
}};

// A pool and the cells it should equal, under the same random reservations and releases.
class PlacementPair {
 public:
  PlacementPair(const Rule& pool, const Rule& cells, unsigned seed)
      : random_(seed),
        total_(20 + static_cast<TokenCount>(random_() % 200)),
        longest_(2 + static_cast<TokenCount>(random_()) % total_),
        kv_({.tokens = total_, .placement = pool.placement, .compaction = pool.compaction}),
        cells_(total_, cells.fit, cells.compaction) {}

  // Whether both did the same and look the same.
  bool step() {
    const auto id = static_cast<RequestId>(random_() % kRequests);
    if (cells_.address_of(id)) {
      release(id);
    } else {
      const TokenCount tokens = 1 + static_cast<TokenCount>(random_()) % longest_;
      const bool fits = kv_.try_grow({.id = id, .hold_tokens = 1, .final_tokens = tokens});
      if (fits != cells_.reserve(id, tokens)) return false;
    }
    moved_ += kv_.take_traffic().moved_tokens;
    return agree();
  }

  void release_all() {
    for (RequestId id = 0; id < kRequests; ++id) {
      if (cells_.address_of(id)) release(id);
    }
  }

  [[nodiscard]] bool agree() const {
    const KvPoolState& pool = kv_.pool();
    if (pool.free_blocks != cells_.free_tokens() || moved_ != cells_.moved_tokens()) return false;
    if (pool.largest_hole > 0 && !cells_.admits(pool.largest_hole)) return false;
    if (cells_.admits(pool.largest_hole + 1)) return false;
    for (RequestId id = 0; id < kRequests; ++id) {
      if (kv_.address_of(id) != cells_.address_of(id)) return false;
    }
    return true;
  }

  [[nodiscard]] const ContiguousKv& kv() const { return kv_; }
  [[nodiscard]] TokenCount moved() const { return moved_; }

 private:
  void release(RequestId id) {
    kv_.release(id, Request{}, 1, KvRelease::finished);
    cells_.release(id);
  }

  std::mt19937 random_;
  TokenCount total_;
  TokenCount longest_;
  ContiguousKv kv_;
  oracle::AddressSpace cells_;
  TokenCount moved_ = 0;
};

TEST_CASE("every placement equals its rule over single cells, operation by operation") {
  for (const Rule& rule : kRules) {
    TokenCount moved = 0;
    for (unsigned seed = 0; seed < test::repetitions(400); ++seed) {
      PlacementPair pair(rule, rule, seed);
      for (int i = 0; i < 250; ++i) {
        if (pair.step()) continue;
        FAIL("fit " << static_cast<int>(rule.fit) << " seed " << seed << " operation " << i);
      }
      moved += pair.moved();
    }
    CHECK((moved > 0) == rule.compaction);
  }
}

TEST_CASE("the comparison tells every two placements apart") {
  for (const Rule& pool : kRules) {
    for (const Rule& cells : kRules) {
      if (&pool == &cells) continue;
      bool differs = false;
      for (unsigned seed = 0; seed < 50 && !differs; ++seed) {
        PlacementPair pair(pool, cells, seed);
        for (int i = 0; i < 250 && !differs; ++i) differs = !pair.step();
      }
      CHECK(differs);
    }
  }
}

// The largest power of two in `tokens`: what the largest of the initial buddy blocks has.
TokenCount largest_power_in(TokenCount tokens) {
  TokenCount power = 1;
  while (power * 2 <= tokens) power *= 2;
  return power;
}

TEST_CASE("a pool that was emptied is one hole again, or its initial buddy blocks") {
  for (const Rule& rule : kRules) {
    for (unsigned seed = 1000; seed < 1100; ++seed) {
      PlacementPair pair(rule, rule, seed);
      for (int i = 0; i < 100; ++i) {
        if (!pair.step()) FAIL("seed " << seed << " operation " << i);
      }
      pair.release_all();
      const KvPoolState& pool = pair.kv().pool();
      REQUIRE(pair.agree());
      REQUIRE(pool.free_blocks == pool.total_blocks);
      REQUIRE(pair.kv().rounding_tokens() == 0);
      const TokenCount whole = rule.placement == Placement::buddy
                                   ? largest_power_in(pool.total_blocks)
                                   : pool.total_blocks;
      REQUIRE(pool.largest_hole == whole);
    }
  }
}

// Initial blocks of an emptied buddy pool, each of which can be had at once: one for each bit.
TEST_CASE("an emptied buddy pool can be filled with its initial blocks") {
  for (const TokenCount total : {1, 2, 3, 37, 100, 255, 256, 1000, 2047}) {
    ContiguousKv kv({.tokens = total, .placement = Placement::buddy});
    for (RequestId id = 0; kv.pool().free_blocks > 0; ++id) {
      REQUIRE(kv.try_grow({.id = id, .hold_tokens = 1, .final_tokens = 1}));
    }
    for (RequestId id = 0; id < static_cast<RequestId>(total); ++id) {
      kv.release(id, Request{}, 1, KvRelease::finished);
    }
    TokenCount address = 0;
    RequestId next = 0;
    for (TokenCount block = 1024; block > 0; block /= 2) {
      if ((total & block) == 0) continue;
      REQUIRE(kv.try_grow({.id = next, .hold_tokens = 1, .final_tokens = block}));
      REQUIRE(kv.address_of(next) == address);
      address += block;
      ++next;
    }
    CHECK(kv.pool().free_blocks == 0);
  }
}

// 8 | 4 | 4 | 4 | 8 cells with the 1st, 3rd and last free; the last range ends at 20.
TEST_CASE("oracle: first, best and next fit put the same request elsewhere") {
  const auto place = [](oracle::Fit fit) {
    oracle::AddressSpace cells(28, fit);
    const std::array<TokenCount, 4> ranges{8, 4, 4, 4};
    for (std::size_t i = 0; i < ranges.size(); ++i) REQUIRE(cells.reserve(i, ranges[i]));
    cells.release(0);
    cells.release(2);
    return cells.find(4);
  };
  CHECK(place(oracle::Fit::first) == 0);
  CHECK(place(oracle::Fit::best) == 12);
  CHECK(place(oracle::Fit::next) == 20);
}

// 12 = 8 + 4. Three cells take the 4 at 8; one cell halves the 8: blocks 1, 2 and 4 at 1, 2 and 4
// are free, so 3 goes to 4, and 5 fits nowhere though 7 are free.
TEST_CASE("oracle: a buddy pool is halved as far as the request needs") {
  oracle::AddressSpace cells(12, oracle::Fit::buddy);
  REQUIRE(cells.reserve(0, 3));
  CHECK(cells.address_of(0) == 8);
  CHECK(cells.used_tokens() == 4);
  REQUIRE(cells.reserve(1, 1));
  CHECK(cells.address_of(1) == 0);
  CHECK(cells.find(1) == 1);
  CHECK(cells.find(2) == 2);
  CHECK(cells.find(3) == 4);
  CHECK(cells.find(5) == std::nullopt);
  CHECK(cells.free_tokens() == 7);
}

// 4 | 2 | 3, 1 free; without the first, 5 are free: 2 and 3 cells move down.
TEST_CASE("oracle: compaction moves every taken cell down") {
  oracle::AddressSpace cells(10, oracle::Fit::first, true);
  REQUIRE(cells.reserve(0, 4));
  REQUIRE(cells.reserve(1, 2));
  REQUIRE(cells.reserve(2, 3));
  cells.release(0);
  CHECK_FALSE(cells.reserve(3, 6));
  CHECK(cells.moved_tokens() == 0);
  REQUIRE(cells.reserve(3, 5));
  CHECK(cells.address_of(2) == 2);
  CHECK(cells.address_of(3) == 5);
  CHECK(cells.moved_tokens() == 5);
}

}  // namespace
}  // namespace headroom::placement_test
