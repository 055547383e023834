// Blocks that only begin as the next one of a prompt does (TensorRT-LLM: enable_partial_reuse,
// copy_on_partial_reuse; docs/semantics.md 7), one behaviour each. Equality with single blocks:
// tests/oracle.

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "scheduler/kv/paged.hpp"
#include "tests/unit/scheduler/prompt_fixture.hpp"

namespace headroom::partial_reuse_test {
namespace {

using test::admit;
using test::finish;
using test::Prompt;

PagedKv pool(bool copies = true, BlockCount blocks = 100) {
  return PagedKv({.blocks = blocks,
                  .block_tokens = 32,
                  .plain_to_front = true,
                  .partial_reuse = true,
                  .copy_on_partial_reuse = copies});
}

}  // namespace

// Two whole blocks, and the third but for its last token. Nobody holds it: it is taken over.
TEST_CASE("a prompt that is cached in full computes its last token alone", "[partial]") {
  PagedKv kv = pool();
  const Prompt first(0, {{7, 96}});
  const Prompt second(1, {{7, 96}});
  CHECK(admit(kv, 0, first) == 0);
  finish(kv, 0, first, 96);
  CHECK(kv.pool().cached_blocks == 3);
  CHECK(admit(kv, 1, second) == 95);
  CHECK(kv.take_traffic().moved_tokens == 0);
  CHECK(kv.pool().used_blocks() == 3);
  CHECK(kv.pool().cached_blocks == 0);
}

// The same while the first still holds the block: 31 tokens are copied into a new one.
TEST_CASE("a block in use is copied as far as it is equal", "[partial]") {
  PagedKv kv = pool();
  const Prompt first(0, {{7, 96}});
  const Prompt second(1, {{7, 96}});
  static_cast<void>(admit(kv, 0, first));
  CHECK(admit(kv, 1, second) == 95);
  CHECK(kv.take_traffic().moved_tokens == 31);
  CHECK(kv.take_traffic().moved_tokens == 0);
  CHECK(kv.pool().used_blocks() == 4);
  CHECK(kv.pool().shared_blocks == 2);
}

TEST_CASE("without copies a block in use is left alone", "[partial]") {
  PagedKv kv = pool(false);
  const Prompt first(0, {{7, 96}});
  const Prompt second(1, {{7, 96}});
  static_cast<void>(admit(kv, 0, first));
  CHECK(kv.cached_prefix(1, second.request) == 64);
  finish(kv, 0, first, 96);
  CHECK(kv.cached_prefix(1, second.request) == 95);
}

// A block with others behind it stays: 64 tokens are whole blocks of (7, 96), and of the third one
// 16 are wanted.
TEST_CASE("a free block that others follow is copied", "[partial]") {
  PagedKv kv = pool();
  const Prompt first(0, {{7, 128}});
  static_cast<void>(admit(kv, 0, first));
  finish(kv, 0, first, 128);
  CHECK(admit(kv, 1, Prompt(1, {{7, 80}}, 9)) == 80);
  CHECK(kv.take_traffic().moved_tokens == 16);
  CHECK(kv.cached_prefix(2, Prompt(2, {{7, 128}}, 1).request) == 128);
}

// 40 tokens that all have: a whole block and 8 tokens of one that goes on in private.
TEST_CASE("a system prompt that does not fill its last block is reused to its end", "[partial]") {
  PagedKv kv = pool();
  const Prompt first(0, {{7, 40}}, 30);
  static_cast<void>(admit(kv, 0, first));
  finish(kv, 0, first, 75);
  CHECK(admit(kv, 1, Prompt(1, {{7, 40}}, 100)) == 40);
}

// 40 tokens of prompt and 9 of 10 of the answer have KV: one block and 17 tokens of the next.
TEST_CASE("the next turn of a conversation goes on in the partly filled block", "[partial]") {
  PagedKv kv = pool();
  const Prompt turn(0, {{7, 40}}, 0, 8);
  static_cast<void>(admit(kv, 0, turn));
  kv.take(0);
  finish(kv, 0, turn, 49);
  CHECK(kv.pool().cached_blocks == 2);
  const Prompt next(1, {{7, 40}, {8, 10}}, 30);
  CHECK(admit(kv, 1, next) == 49);
  CHECK(kv.take_traffic().moved_tokens == 0);
  CHECK(kv.pool().used_blocks() == 3);  // 80 tokens
}

// Blocks (7, 40) (8, 24) and (7, 40) (9, 24): the second prompt has 8 + 10 tokens in common with
// the first, and only 8 with the other, which is newer.
TEST_CASE("of blocks that begin alike the one with most equal tokens is found", "[partial]") {
  PagedKv kv = pool();
  const Prompt far(0, {{7, 40}, {8, 24}}, 8);
  const Prompt near(1, {{7, 40}, {9, 24}}, 8);
  static_cast<void>(admit(kv, 0, far));
  static_cast<void>(admit(kv, 1, near));
  CHECK(kv.cached_prefix(2, Prompt(2, {{7, 40}, {8, 10}}, 50).request) == 50);
  CHECK(kv.cached_prefix(2, Prompt(3, {{7, 40}, {6, 10}}, 50).request) == 40);
  CHECK(kv.cached_prefix(2, Prompt(4, {{7, 39}}, 50).request) == 39);
}

// 4 blocks: the tip of the first (tokens 32 to 40) is overwritten before the block in front of it.
TEST_CASE("an overwritten block is not found by its beginning", "[partial]") {
  PagedKv kv = pool(true, 4);
  const Prompt first(0, {{7, 40}});
  static_cast<void>(admit(kv, 0, first));
  finish(kv, 0, first, 40);
  const Prompt other(1, {{5, 96}});
  static_cast<void>(admit(kv, 1, other));
  CHECK(kv.cached_prefix(2, Prompt(2, {{7, 40}}, 9).request) == 32);
}

}  // namespace headroom::partial_reuse_test
