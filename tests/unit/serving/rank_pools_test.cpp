#include "sim/serving/rank_pools.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "scheduler/kv/paged.hpp"
#include "sim/kernel/check.hpp"

namespace headroom::rank_pools_test {
namespace {

// Two ranks of 8 blocks of 4 tokens.
RankPools two_pools() {
  std::vector<std::unique_ptr<KvAllocator>> pools;
  for (int i = 0; i < 2; ++i) {
    pools.push_back(std::make_unique<PagedKv>(PagedKvOptions{.blocks = 8, .block_tokens = 4}));
  }
  return RankPools(std::move(pools));
}

Request request_on(std::uint16_t rank, const std::vector<PrefixSegment>& prompt) {
  Request request;
  request.index = rank;
  request.rank = rank;
  request.prompt_tokens = request.known_tokens = 12;
  request.prefix = prompt;
  return request;
}

bool grows(RankPools& pools, RequestId id, const Request& request, TokenCount tokens) {
  return pools.try_grow(
      {.id = id, .request = &request, .hold_tokens = tokens, .fit_tokens = tokens});
}

TEST_CASE("a request takes blocks of its rank, and finds what lies there", "[ranks]") {
  const std::vector<PrefixSegment> prompt{{7, 12}};
  RankPools pools = two_pools();
  CHECK(pools.pool().total_blocks == 16);
  const Request first = request_on(0, prompt);
  const Request other = request_on(1, prompt);
  REQUIRE(grows(pools, 1, first, 12));
  CHECK(pools.pool().free_blocks == 13);
  CHECK(pools.of(0).pool().free_blocks == 5);
  CHECK_FALSE(grows(pools, 2, other, 36));  // more than a rank has, less than is free
  pools.release(1, first, 12, KvRelease::finished);
  CHECK(pools.pool().cached_blocks == 3);
  CHECK(pools.cached_prefix(3, first) == 8);
  CHECK(pools.cached_prefix(3, other) == 0);
  CHECK(pools.cached_prefix(kNoRequest, other) == 8);  // wherever most is found
  pools.on_engine_lost();
  CHECK(pools.pool().cached_blocks == 0);
}

TEST_CASE("steps take blocks rank by rank", "[ranks]") {
  RankPools pools = two_pools();
  std::vector<DecodeSet> decodes(2, DecodeSet(4));
  for (const TokenCount tokens : {4, 5, 8}) decodes[0].join(tokens);
  decodes[1].join(TokenCount{7});
  pools.take_steps(decodes, 2);  // of the first rank both full ones; of the second one later
  CHECK(pools.of(0).pool().free_blocks == 6);
  CHECK(pools.of(1).pool().free_blocks == 7);
  CHECK(pools.pool().free_blocks == 13);
  CHECK_THROWS_AS(pools.take(1), InternalError);
}

TEST_CASE("which free blocks go first is told as far as no rank has run out", "[ranks]") {
  const std::vector<PrefixSegment> prompt{{7, 12}};
  RankPools pools = two_pools();
  CHECK(pools.pool().plain_first() == 16);
  const Request request = request_on(0, prompt);
  REQUIRE(grows(pools, 1, request, 12));
  pools.release(1, request, 12, KvRelease::finished);
  // Rank 0 has 5 blocks without content, rank 1 has 8.
  CHECK(pools.pool().plain_first() == 5);
  CHECK(pools.pool().ordered_blocks() == 5);
}

}  // namespace
}  // namespace headroom::rank_pools_test
