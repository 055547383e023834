// A radix pool evicts whole leaves, the least recently used one first, as SGLang's radix tree does.
// Pages of one token.

#include <catch2/catch.hpp>

#include "scheduler/kv/radix.hpp"
#include "tests/unit/scheduler/prompt_fixture.hpp"

namespace headroom::leaf_eviction_test {
namespace {

using test::finish;
using test::Prompt;
using test::try_admit;

// Ten pages. Two requests of 3 tokens have left, so that 4 pages have no content.
struct TwoLeaves {
  RadixKv kv;

  explicit TwoLeaves(bool evicts_all)
      : kv({.blocks = 10, .block_tokens = 1, .evicts_all = evicts_all}) {
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
    kv.take(0);
    CHECK(kv.pool().free_blocks == 10 - tokens);
    return kv.pool().cached_blocks;
  }
};

TEST_CASE("a prompt that lacks one page evicts as many as it takes, or a leaf") {
  CHECK(TwoLeaves(true).cached_behind(4) == 6);
  CHECK(TwoLeaves(true).cached_behind(5) == 0);  // 5 pages are two leaves
  CHECK(TwoLeaves(false).cached_behind(5) == 3);
}

TEST_CASE("decodes that lack one page evict a leaf") {
  TwoLeaves leaves(false);
  leaves.kv.take(5);
  CHECK(leaves.kv.pool().cached_blocks == 3);
  CHECK(leaves.kv.pool().free_blocks == 5);
}

TEST_CASE("a lookup counts as a use") {
  TwoLeaves leaves(false);
  const Prompt first(8, {{1, 3}});
  const Prompt second(9, {{2, 3}});
  CHECK(leaves.kv.cached_prefix(3, first.request) == 2);
  leaves.kv.take(5);
  CHECK(leaves.kv.cached_prefix(3, first.request) == 2);
  CHECK(leaves.kv.cached_prefix(3, second.request) == 0);
}

TEST_CASE("a question of nobody is no use") {
  TwoLeaves leaves(false);
  const Prompt first(8, {{1, 3}});
  CHECK(leaves.kv.cached_prefix(kNoRequest, first.request) == 2);
  leaves.kv.take(5);
  CHECK(leaves.kv.cached_prefix(kNoRequest, first.request) == 0);
}

// A prompt of a piece and text of its own is one leaf: once it goes, the piece has gone with it.
TEST_CASE("a prompt that nobody shares is one leaf with the pieces it begins with") {
  RadixKv kv({.blocks = 10, .block_tokens = 1, .evicts_all = false});
  const Prompt whole(0, {{1, 3}}, 4);
  CHECK(try_admit(kv, 0, whole) == 0);
  finish(kv, 0, whole, 7);
  kv.take(4);
  CHECK(kv.cached_prefix(kNoRequest, Prompt(1, {{1, 3}}, 1).request) == 0);
  CHECK(kv.pool().cached_blocks == 0);
}

}  // namespace
}  // namespace headroom::leaf_eviction_test
