// What an allocator promises, one behaviour each. Equality with single blocks and cells:
// tests/oracle.

#include <catch2/catch.hpp>

#include "scheduler/kv/contiguous.hpp"
#include "scheduler/kv/paged.hpp"

namespace headroom::kv_allocators_test {
namespace {

Request known(std::int32_t tokens) {
  Request request;
  request.known_tokens = tokens;
  return request;
}

TEST_CASE("a request that fits exactly is admitted, one token more is refused and moves nothing") {
  PagedKv kv({.blocks = 4, .block_tokens = 16});
  CHECK_FALSE(kv.try_grow({.id = 0, .hold_tokens = 65}));
  CHECK(kv.pool().free_blocks == 4);
  CHECK(kv.try_grow({.id = 0, .hold_tokens = 64}));
  CHECK(kv.pool().free_blocks == 0);
}

TEST_CASE("the gate and the watermark refuse without taking what would have fitted") {
  PagedKv kv({.blocks = 10, .block_tokens = 16});
  CHECK_FALSE(kv.try_grow({.id = 0, .hold_tokens = 16, .fit_tokens = 161}));
  CHECK_FALSE(kv.try_grow({.id = 0, .hold_tokens = 144, .keep_free = 2}));
  CHECK(kv.pool().free_blocks == 10);
  CHECK(kv.try_grow({.id = 0, .hold_tokens = 128, .keep_free = 2}));
}

TEST_CASE("a preempted request finds the blocks of its own that were not taken since") {
  // 10 blocks: A holds 5 (80 tokens, all full) and is preempted. B takes 7: the 5 plain ones and
  // the last 2 of A, whose first 3 blocks remain.
  PagedKv kv({.blocks = 10, .block_tokens = 16});
  REQUIRE(kv.try_grow({.id = 0, .hold_tokens = 80}));
  kv.release(0, known(80), 80, KvRelease::preempted);
  CHECK(kv.pool().cached_blocks == 5);
  REQUIRE(kv.try_grow({.id = 1, .hold_tokens = 7 * 16}));
  CHECK(kv.cached_prefix(0, known(81)) == 48);
  // Vector 9: a fully cached prompt whose length is a multiple of the block computes its last
  // block.
  CHECK(kv.cached_prefix(0, known(48)) == 32);
  CHECK(kv.cached_prefix(0, known(49)) == 48);
}

TEST_CASE("a finished request leaves cached blocks that nobody finds") {
  PagedKv kv({.blocks = 10, .block_tokens = 16});
  REQUIRE(kv.try_grow({.id = 0, .hold_tokens = 40}));
  kv.release(0, known(40), 40, KvRelease::finished);
  CHECK(kv.pool().cached_blocks == 2);  // floor(40 / 16); the third block was not full
  CHECK(kv.cached_prefix(0, known(41)) == 0);
}

TEST_CASE("without prefix caching nothing is cached") {
  PagedKv kv({.blocks = 10, .block_tokens = 16, .enable_prefix_caching = false});
  REQUIRE(kv.try_grow({.id = 0, .hold_tokens = 64}));
  kv.release(0, known(64), 64, KvRelease::preempted);
  CHECK(kv.pool().cached_blocks == 0);
  CHECK(kv.cached_prefix(0, known(65)) == 0);
}

TEST_CASE("free tokens that lie apart do not hold a contiguous request") {
  // 100 tokens as 40 | 20 | 40; the outer two are released: 80 free, no hole above 40.
  ContiguousKv kv(100);
  REQUIRE(kv.try_grow({.id = 0, .hold_tokens = 1, .final_tokens = 40}));
  REQUIRE(kv.try_grow({.id = 1, .hold_tokens = 1, .final_tokens = 20}));
  REQUIRE(kv.try_grow({.id = 2, .hold_tokens = 1, .final_tokens = 40}));
  kv.release(0, Request{}, 1, KvRelease::finished);
  kv.release(2, Request{}, 1, KvRelease::finished);
  CHECK(kv.pool().free_blocks == 80);
  CHECK(kv.pool().largest_hole == 40);
  CHECK_FALSE(kv.try_grow({.id = 3, .hold_tokens = 1, .final_tokens = 41}));
  kv.release(1, Request{}, 1, KvRelease::finished);  // the neighbours merge
  CHECK(kv.pool().largest_hole == 100);
  CHECK(kv.try_grow({.id = 3, .hold_tokens = 1, .final_tokens = 100}));
}

}  // namespace
}  // namespace headroom::kv_allocators_test
