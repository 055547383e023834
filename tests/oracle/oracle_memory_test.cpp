// The oracle's allocators and recursions by hand-worked examples.

#include <catch2/catch.hpp>

#include "tests/oracle/address_space.hpp"
#include "tests/oracle/block_pool.hpp"
#include "tests/oracle/exact_recursions.hpp"
#include "tests/oracle/worked_examples.hpp"

namespace headroom::oracle::oracle_memory_test {
namespace {

using Ids = std::vector<BlockId>;

// 9 tokens in blocks 0-2: two full ones, hashed, go to the tail, last first; the third goes to
// the front.
TEST_CASE("oracle: a block pool hands out the head and takes back the last block first") {
  BlockPool pool(5, 4, true);
  REQUIRE(pool.grow(1, 9));  // 3 blocks
  REQUIRE(pool.grow(2, 4));
  CHECK(pool.blocks_of(1) == Ids{0, 1, 2});
  CHECK(pool.free_list() == Ids{4});
  pool.release(1, 9, KvRelease::preempted);
  CHECK(pool.free_list() == Ids{2, 4, 1, 0});
  CHECK(pool.cached_blocks() == 2);
  CHECK(pool.cached_prefix(1, 10) == 8);
}

TEST_CASE("oracle: growth that does not fit moves nothing") {
  BlockPool pool(3, 4, false);
  REQUIRE(pool.grow(1, 5));
  CHECK_FALSE(pool.grow(1, 17));
  CHECK(pool.blocks_of(1) == Ids{0, 1});
  CHECK(pool.grow(1, 12));
  CHECK(pool.free_blocks() == 0);
}

// ENGINES.md 12.1, vector 9: at least one token is computed again, whole blocks are found.
TEST_CASE("oracle: a fully cached prompt recomputes its last block") {
  BlockPool pool(4, 16, true);
  REQUIRE(pool.grow(1, 32));
  pool.release(1, 32, KvRelease::preempted);
  CHECK(pool.cached_prefix(1, 32) == 16);
  CHECK(pool.cached_prefix(1, 33) == 32);
}

// Blocks 0-2 hold request 1, full. Request 2 takes 3 (the only free one) and 2, the end of
// request 1, whose first two blocks are found in the free list and taken out of it.
TEST_CASE("oracle: the end of a released sequence is overwritten before its beginning") {
  BlockPool pool(4, 4, true);
  REQUIRE(pool.grow(1, 12));
  pool.release(1, 12, KvRelease::preempted);
  REQUIRE(pool.grow(2, 8));
  CHECK(pool.blocks_of(2) == Ids{3, 2});
  CHECK(pool.cached_blocks() == 2);
  CHECK(pool.cached_prefix(1, 13) == 8);
  pool.touch(1, 8);
  CHECK(pool.blocks_of(1) == Ids{0, 1});
  CHECK(pool.cached_blocks() == 0);
  CHECK(pool.free_blocks() == 0);
  CHECK_FALSE(pool.grow(1, 9));
}

TEST_CASE("oracle: blocks released without identity stay cached but are not found") {
  BlockPool pool(3, 2, true);
  REQUIRE(pool.grow(1, 4));
  pool.release(1, 4, KvRelease::finished);
  CHECK(pool.cached_blocks() == 2);
  CHECK(pool.cached_prefix(1, 5) == 0);
  // The same for one that was preempted, and then finished by its token in flight.
  REQUIRE(pool.grow(2, 4));
  pool.release(2, 4, KvRelease::preempted);
  CHECK(pool.cached_prefix(2, 5) == 4);
  pool.forget_request(2);
  CHECK(pool.cached_prefix(2, 5) == 0);
  CHECK(pool.cached_blocks() == 3);
  BlockPool off(3, 2, false);
  REQUIRE(off.grow(1, 4));
  off.release(1, 4, KvRelease::preempted);
  CHECK(off.cached_blocks() == 0);
  CHECK(off.cached_prefix(1, 5) == 0);
}

// Requests 1 and 2 begin with the same 6 tokens: one full block in common, then their own text.
// Block 0 is held twice; after 1 leaves, it still is not free, and its end (block 1) is.
TEST_CASE("oracle: a common beginning is held once") {
  BlockPool pool(5, 4, true);
  std::vector<Token> beginning;
  for (std::int64_t offset = 0; offset < 6; ++offset) beginning.push_back({false, 7, offset});
  pool.introduce(1, beginning);
  pool.introduce(2, beginning);
  REQUIRE(pool.grow(1, 8, 8));
  CHECK(pool.cached_prefix(2, 9) == 4);
  CHECK(pool.free_among(2, 4) == 0);
  pool.touch(2, 4);
  REQUIRE(pool.grow(2, 9, 9));
  CHECK(pool.blocks_of(2) == Ids{0, 2, 3});
  CHECK(pool.shared_blocks() == 1);
  pool.release(1, 8, KvRelease::finished);
  CHECK(pool.free_list() == Ids{4, 1});
  CHECK(pool.cached_blocks() == 1);
  CHECK(pool.shared_blocks() == 0);
}

// The second request computes the second block again, in block 2: the older one (block 1) is found,
// and when that is gone the copy, until it goes too.
TEST_CASE("oracle: of two copies the older one is found, then the other") {
  BlockPool pool(4, 2, true);
  const std::vector<Token> text{{false, 7, 0}, {false, 7, 1}, {false, 7, 2}, {false, 7, 3}};
  for (std::uint64_t request = 1; request <= 3; ++request) pool.introduce(request, text);
  REQUIRE(pool.grow(1, 4, 4));
  CHECK(pool.cached_prefix(2, 4) == 2);
  pool.touch(2, 2);
  REQUIRE(pool.grow(2, 4, 4));
  CHECK(pool.blocks_of(2) == Ids{0, 2});
  pool.release(1, 4, KvRelease::finished);
  CHECK(pool.free_list() == Ids{3, 1});
  CHECK(pool.cached_prefix(3, 5) == 4);
  REQUIRE(pool.grow(4, 4));
  CHECK(pool.cached_prefix(3, 5) == 4);
  pool.release(2, 4, KvRelease::finished);
  CHECK(pool.free_list() == Ids{2, 0});
  REQUIRE(pool.grow(5, 2));
  CHECK(pool.cached_prefix(3, 5) == 2);
}

// Holes of 3 at 0 and 4 at 7: 4 goes to the second, 7 fits nowhere though 7 are free; after the
// middle leaves, everything merges.
TEST_CASE("oracle: first fit takes the lowest hole that is large enough") {
  AddressSpace space(11);
  REQUIRE(space.reserve(1, 3));
  REQUIRE(space.reserve(2, 4));
  space.release(1);
  CHECK(space.free_tokens() == 7);
  CHECK_FALSE(space.reserve(3, 7));
  CHECK(space.find(3) == 0);
  REQUIRE(space.reserve(3, 4));
  CHECK(space.address_of(3) == 7);
  space.release(2);
  CHECK(space.find(7) == 0);
}

// Ends 10, 20, 35: the second waits 10 - 4 = 6, the third finds nobody.
TEST_CASE("oracle: Lindley waits of three jobs") {
  const std::vector<Job> jobs{{0, 10}, {4, 10}, {25, 10}};
  CHECK(lindley_waits(jobs) == std::vector<TimeNs>{0, 6, 0});
}

// Servers: a until 10, b until 3; the third job takes b at 3, the fourth b again at 5.
TEST_CASE("oracle: the earliest free of two servers takes the next job") {
  const std::vector<Job> jobs{{0, 10}, {1, 2}, {2, 2}, {2, 1}};
  CHECK(earliest_free_ends(jobs, 2) == std::vector<TimeNs>{10, 3, 5, 6});
}

// A slot that only prefills is a single server: service 7 ns + prompt tokens.
TEST_CASE("oracle: the naive engine with one seat is the Lindley recursion") {
  Scenario s;
  s.max_num_seqs = 1;
  s.cost = {.step = 7 * kTicksPerNs, .chunk_token = kTicksPerNs};
  std::vector<Job> jobs;
  std::uint32_t noise = 1;
  TimeNs now = 0;
  for (int i = 0; i < 300; ++i) {
    noise = noise * 1664525U + 1013904223U;
    const auto prompt = static_cast<std::int32_t>(1 + (noise >> 8) % 30);
    now += (noise >> 16) % 50;
    s.arrivals.push_back({now, prompt, 1, 1, 0});
    jobs.push_back({now, 7 + prompt});
  }
  const Result result = run_naive(s);
  const std::vector<TimeNs> waits = lindley_waits(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const TimeNs end = jobs[i].arrival_ns + waits[i] + jobs[i].service_ns;
    REQUIRE(result.requests[i].finish_ns == end);
  }
}

// Steps of constant length, arrivals at multiples of it and one-token prompts: each of the three
// seats is a server with service N steps.
TEST_CASE("oracle: the naive engine with three seats is the earliest-free recursion") {
  Scenario s;
  s.max_num_seqs = 3;
  s.kv_blocks = 100;
  s.cost = ten_ns();
  std::vector<Job> jobs;
  std::uint32_t noise = 1;
  TimeNs now = 0;
  for (int i = 0; i < 300; ++i) {
    noise = noise * 1664525U + 1013904223U;
    const auto output = static_cast<std::int32_t>(1 + (noise >> 8) % 30);
    now += 10 * ((noise >> 16) % 11);
    s.arrivals.push_back({now, 1, output, output, 0});
    jobs.push_back({now, 10 * output});
  }
  const Result result = run_naive(s);
  const std::vector<TimeNs> ends = earliest_free_ends(jobs, 3);
  for (std::size_t i = 0; i < jobs.size(); ++i) REQUIRE(result.requests[i].finish_ns == ends[i]);
}

}  // namespace
}  // namespace headroom::oracle::oracle_memory_test
