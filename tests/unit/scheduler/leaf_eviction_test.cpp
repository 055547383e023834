// A pool that keeps one block of each content evicts whole leaves for prompts, as SGLang's radix
// tree does. Pages of one token.

#include <catch2/catch.hpp>

#include "scheduler/kv/paged.hpp"
#include "tests/unit/scheduler/prompt_fixture.hpp"

namespace headroom::leaf_eviction_test {
namespace {

using test::finish;
using test::Prompt;
using test::try_admit;

// Ten pages. Two requests of 3 tokens have left, so that 4 pages have no content.
struct TwoLeaves {
  PagedKv kv{{.blocks = 10, .block_tokens = 1, .merges_copies = true}};

  TwoLeaves() {
    for (RequestId id = 0; id < 2; ++id) {
      const Prompt prompt(id, {{id + 1, 3}});
      CHECK(try_admit(kv, id, prompt) == 0);
      finish(kv, id, prompt, 3);
    }
    CHECK(kv.pool().cached_blocks == 6);
  }
  // Pages with content that are left behind a prompt of its own.
  BlockCount cached_behind(std::int32_t tokens) {
    const Prompt prompt(7, {}, tokens);
    CHECK(kv.try_grow(
        {.id = 7, .request = &prompt.request, .hold_tokens = tokens, .is_unknown = true}));
    CHECK(kv.pool().free_blocks == 10 - tokens);
    return kv.pool().cached_blocks;
  }
};

TEST_CASE("a prompt that lacks one page evicts as many as it takes") {
  CHECK(TwoLeaves().cached_behind(4) == 6);
  CHECK(TwoLeaves().cached_behind(5) == 0);  // 3 and 2, which takes the other 3
}

TEST_CASE("decodes that lack one page evict one") {
  TwoLeaves leaves;
  leaves.kv.take(5);
  CHECK(leaves.kv.pool().cached_blocks == 5);
  CHECK(leaves.kv.pool().free_blocks == 5);
}

}  // namespace
}  // namespace headroom::leaf_eviction_test
