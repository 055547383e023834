#include "sim/serving/block_size.hpp"

#include <catch2/catch.hpp>

#include "sim/kernel/random.hpp"

namespace headroom::block_size_test {
namespace {

TEST_CASE("tokens in blocks of any size are what division says") {
  RandomStream random(1, "blocks");
  for (std::int32_t size = 1; size <= 1024; ++size) {
    const BlockSize block(size);
    CHECK(block.tokens() == size);
    for (int i = 0; i < 20; ++i) {
      const TokenCount tokens = random.uniform_int(0, i % 2 == 0 ? 3 * size : 1LL << 50);
      REQUIRE(block.full(tokens) == tokens / size);
      REQUIRE(block.needed(tokens) == (tokens + size - 1) / size);
      REQUIRE(block.rest(tokens) == tokens % size);
    }
  }
}

TEST_CASE("a block holds a token at least") { CHECK_THROWS_AS(BlockSize(0), InternalError); }

}  // namespace
}  // namespace headroom::block_size_test
