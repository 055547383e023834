// What requests share in a paged pool, one behaviour each (ENGINES.md 2.1, 2.2, 2.6). Equality with
// single blocks found by their content: tests/oracle.

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "scheduler/kv/paged.hpp"
#include "sim/kernel/check.hpp"
#include "tests/unit/scheduler/prompt_fixture.hpp"

namespace headroom::paged_sharing_test {
namespace {

using test::finish;
using test::Prompt;
using test::try_admit;

// ENGINES.md 12.1, vector 9. Block 1 is SGLang's pool.
TEST_CASE("a fully cached prompt computes its last block, or at least one token") {
  const auto [block, tokens, hit] = GENERATE(table<std::int32_t, std::int32_t, TokenCount>(
      {{16, 32, 16}, {16, 33, 32}, {1, 32, 31}, {1, 33, 32}}));
  PagedKv kv({.blocks = 100, .block_tokens = block});
  const Prompt first(0, {{7, tokens}});
  const Prompt second(1, {{7, tokens}});
  CHECK(try_admit(kv, 0, first) == 0);
  finish(kv, 0, first, tokens);
  CHECK(try_admit(kv, 1, second) == hit);
}

// 100 blocks. The first takes 3. The second, in the same plan, finds 2 of them and takes 1 of its
// own, for the 8 tokens behind the 40 that both have (48 = 3 blocks).
TEST_CASE("a second request finds the blocks that the same plan has given to the first") {
  PagedKv kv({.blocks = 100, .block_tokens = 16});
  const Prompt first(0, {{7, 40}});
  const Prompt second(1, {{7, 40}}, 8);
  CHECK(try_admit(kv, 0, first) == 0);
  CHECK(try_admit(kv, 1, second) == 32);
  CHECK(kv.pool().used_blocks() == 4);
  CHECK(kv.pool().shared_blocks == 2);
  finish(kv, 0, first, 40);
  CHECK(kv.pool().used_blocks() == 3);
  CHECK(kv.pool().shared_blocks == 0);
}

// Pieces (7, 20) (8, 28): block 0 is in piece 7, block 1 lies across, block 2 in piece 8.
TEST_CASE("a block across pieces is found when all its parts are equal") {
  PagedKv kv({.blocks = 100, .block_tokens = 16});
  CHECK(try_admit(kv, 0, Prompt(0, {{7, 20}, {8, 28}}, 9)) == 0);
  CHECK(kv.cached_prefix(1, Prompt(1, {{7, 20}, {8, 28}}, 1).request) == 48);
  CHECK(kv.cached_prefix(1, Prompt(2, {{7, 20}, {9, 28}}, 1).request) == 16);
  CHECK(kv.cached_prefix(1, Prompt(3, {{7, 21}, {8, 27}}, 1).request) == 16);
  CHECK(kv.cached_prefix(1, Prompt(4, {{8, 28}, {7, 20}}, 1).request) == 0);
}

// A piece of 100 tokens in one prompt and of 40 in another: equal over 40, 2 blocks. The third
// request sees that the first one's blocks behind them are still known.
TEST_CASE("a piece of another length is shared over the shorter one") {
  PagedKv kv({.blocks = 100, .block_tokens = 16});
  CHECK(try_admit(kv, 0, Prompt(0, {{7, 100}})) == 0);
  CHECK(try_admit(kv, 1, Prompt(1, {{7, 40}}, 20)) == 32);
  CHECK(kv.pool().used_blocks() == 7 + 2);
  CHECK(kv.pool().shared_blocks == 2);
  CHECK(kv.cached_prefix(2, Prompt(2, {{7, 200}}).request) == 96);
}

// Turn 1: 32 tokens and an answer of 17, of which 16 have KV. Turn 2 begins with both: 48 tokens.
TEST_CASE("the next turn of a session finds the answer, but only after it has ended") {
  PagedKv kv({.blocks = 100, .block_tokens = 16});
  const Prompt turn(0, {{7, 32}}, 0, 70);
  const Prompt next(1, {{7, 32}, {70, 17}, {8, 10}});
  CHECK(try_admit(kv, 0, turn) == 0);
  kv.take(1);
  CHECK(kv.cached_prefix(1, next.request) == 32);
  finish(kv, 0, turn, 48);
  CHECK(kv.cached_prefix(1, next.request) == 48);
}

// Both prompts are the 32 tokens of piece 7: the second computes block 1 again, beside the first's.
// Behind its copy stands its answer, block 2: its next turn of 60 tokens finds all three. The first
// has left before: when block 1 of it goes (98 plain ones first) the copy is found.
TEST_CASE("an answer behind a copy is found, and the copy itself when the older block is gone") {
  PagedKv kv({.blocks = 100, .block_tokens = 16});
  const Prompt first(0, {{7, 32}});
  const Prompt turn(1, {{7, 32}}, 0, 70);
  const Prompt next(2, {{7, 32}, {70, 17}, {8, 11}});
  CHECK(try_admit(kv, 0, first) == 0);
  CHECK(try_admit(kv, 1, turn) == 16);
  kv.take(1);
  finish(kv, 0, first, 32);
  finish(kv, 1, turn, 48);
  CHECK(kv.pool().cached_blocks == 4);
  CHECK(kv.cached_prefix(2, next.request) == 48);
  kv.take(96 + 1);
  CHECK(kv.pool().cached_blocks == 3);
  CHECK(kv.cached_prefix(2, next.request) == 48);
  CHECK(try_admit(kv, 2, next) == -1);
  kv.take(1);
  CHECK(kv.cached_prefix(2, next.request) == 32);
}

TEST_CASE("an answer behind text that nobody else has is not found") {
  PagedKv kv({.blocks = 100, .block_tokens = 16});
  const Prompt turn(0, {{7, 32}}, 16, 70);
  CHECK(try_admit(kv, 0, turn) == 0);
  kv.take(1);
  finish(kv, 0, turn, 64);
  CHECK(kv.pool().cached_blocks == 4);
  CHECK(kv.cached_prefix(1, Prompt(1, {{7, 32}, {70, 32}}).request) == 32);
}

// 4 blocks. The first leaves 2 full ones (32 of 33 tokens) and a plain third. One that has 3 blocks
// and finds 2 needs 1 more: in all 3 of the 4 that are free. A watermark of 2 refuses it, and
// nothing moves.
TEST_CASE("a hit on free blocks uses them up, a hit on held blocks costs nothing") {
  PagedKv kv({.blocks = 4, .block_tokens = 16});
  const Prompt first(0, {{7, 33}});
  const Prompt second(1, {{7, 33}});
  CHECK(try_admit(kv, 0, first) == 0);
  CHECK(kv.pool().free_blocks == 1);
  CHECK(try_admit(kv, 1, second) == 32);  // 2 held by the first, 1 new
  finish(kv, 0, first, 33);
  finish(kv, 1, second, 33);
  const KvGrowth growth{
      .id = 2, .request = &second.request, .cached_tokens = 32, .hold_tokens = 33, .keep_free = 2};
  CHECK(kv.cached_prefix(2, second.request) == 32);
  CHECK_FALSE(kv.try_grow(growth));
  CHECK(kv.pool().cached_blocks == 2);
  CHECK(try_admit(kv, 2, second) == 32);
  CHECK(kv.pool().free_blocks == 1);
}

// 6 blocks of 16: 33 tokens leave 2 hashed blocks and a plain one, beside 3 that were never used.
// Since 2026 all 4 plain blocks go first. Up to 2025 the 3, the plain one behind them, then
// block 1.
TEST_CASE("the end of what was released goes first, in both orders of eviction") {
  const bool plain_to_front = GENERATE(true, false);
  PagedKv kv({.blocks = 6, .block_tokens = 16, .plain_to_front = plain_to_front});
  const Prompt first(0, {{7, 33}});
  const Prompt look(9, {{7, 33}});
  CHECK(try_admit(kv, 0, first) == 0);
  finish(kv, 0, first, 33);
  kv.take(4);
  CHECK(kv.cached_prefix(9, look.request) == 32);
  kv.take(1);
  CHECK(kv.cached_prefix(9, look.request) == 16);
  kv.take(1);
  CHECK(kv.cached_prefix(9, look.request) == 0);
}

// 4 blocks: A leaves 2 hashed ones, then B (1 full, 1 partly filled) leaves a plain one. The
// newer version overwrites B's plain block first; the older one the longest free, A's end.
TEST_CASE("a plain block is used again at once, or waits its turn behind hashed ones") {
  const bool plain_to_front = GENERATE(true, false);
  PagedKv kv({.blocks = 4, .block_tokens = 16, .plain_to_front = plain_to_front});
  const Prompt a(0, {{7, 32}});
  const Prompt b(1, {{8, 17}});
  CHECK(try_admit(kv, 0, a) == 0);
  CHECK(try_admit(kv, 1, b) == 0);
  finish(kv, 0, a, 32);
  finish(kv, 1, b, 17);
  kv.take(1);
  CHECK(kv.cached_prefix(9, Prompt(9, {{7, 33}}).request) == (plain_to_front ? 32 : 16));
}

// Prompt of 32, 16 tokens of answer: preempted it finds all 3 blocks, dropped those of the prompt.
TEST_CASE("a dropped request finds its prompt again, a preempted one its answer too") {
  const auto [how, hit] = GENERATE(
      table<KvRelease, TokenCount>({{KvRelease::preempted, 48}, {KvRelease::dropped, 32}}));
  PagedKv kv({.blocks = 100, .block_tokens = 16});
  Prompt prompt(0, {}, 32);
  CHECK(try_admit(kv, 0, prompt) == 0);
  kv.take(1);
  kv.release(0, prompt.request, 48, how);
  CHECK(kv.pool().cached_blocks == hit / 16);
  prompt.request.known_tokens = 49;
  CHECK(kv.cached_prefix(0, prompt.request) == hit);
}

TEST_CASE("a preempted request that gives up leaves what others can find") {
  PagedKv kv({.blocks = 100, .block_tokens = 16});
  Prompt prompt(0, {{7, 32}}, 32);
  CHECK(try_admit(kv, 0, prompt) == 0);
  kv.release(0, prompt.request, 64, KvRelease::preempted);
  prompt.request.known_tokens = 65;
  CHECK(kv.cached_prefix(0, prompt.request) == 64);
  kv.release(0, prompt.request, 0, KvRelease::finished);
  CHECK(kv.cached_prefix(0, prompt.request) == 32);
  CHECK(kv.pool().cached_blocks == 4);
}

TEST_CASE("giving KV back twice is our own bug") {
  PagedKv kv({.blocks = 100, .block_tokens = 16});
  const Prompt prompt(0, {{7, 40}});
  CHECK(try_admit(kv, 0, prompt) == 0);
  CHECK_THROWS_AS(kv.release(0, prompt.request, 0, KvRelease::finished), InternalError);
  finish(kv, 0, prompt, 40);
  CHECK_THROWS_AS(finish(kv, 0, prompt, 40), InternalError);
}

// Vector 12: r1, r2, r3 hold 3 blocks each of 9, r3's last one partly filled; r1 takes the plain
// block of r3 and then its last full one.
TEST_CASE("a preempted request loses its last blocks first") {
  PagedKv kv({.blocks = 9, .block_tokens = 16});
  const Prompt r1(0, {}, 48);
  const Prompt r2(1, {}, 48);
  Prompt r3(2, {}, 40);
  CHECK(try_admit(kv, 0, r1) == 0);
  CHECK(try_admit(kv, 1, r2) == 0);
  CHECK(try_admit(kv, 2, r3) == 0);
  CHECK(kv.pool().free_blocks == 0);
  kv.release(2, r3.request, 40, KvRelease::preempted);
  r3.request.known_tokens = 41;
  kv.take(1);
  CHECK(kv.cached_prefix(2, r3.request) == 32);
  kv.take(1);
  CHECK(kv.cached_prefix(2, r3.request) == 16);
}

// --- pools that set aside: TGI's radix allocator (ENGINES.md 2.7)
// ---------------------------------

// Prompt and `output` tokens from the admission on. Returns the hit; -1 = refused.
TokenCount set_aside(PagedKv& kv, RequestId id, const Prompt& prompt, std::int32_t output) {
  const TokenCount cached = kv.cached_prefix(id, prompt.request);
  const bool fits = kv.try_grow({.id = id,
                                 .request = &prompt.request,
                                 .cached_tokens = cached,
                                 .hold_tokens = prompt.request.known_tokens,
                                 .final_tokens = prompt.request.known_tokens + output});
  return fits ? cached : -1;
}

PagedKv reserving_pool(BlockCount blocks, std::int32_t block_tokens = 16) {
  return PagedKv({.blocks = blocks, .block_tokens = block_tokens, .reserve_final = true});
}

// 40 + 24 tokens are 4 blocks, 2 of them full blocks of the prompt. The second holds those 2 with
// nobody, then 3 for its 8 + 33 more: 5 blocks; the third shares the 2 and takes 1.
TEST_CASE("a request holds the prefix it found, and sets aside the rest") {
  PagedKv kv = reserving_pool(100);
  const Prompt first(0, {{7, 40}});
  CHECK(set_aside(kv, 0, first, 24) == 0);
  CHECK(kv.pool().used_blocks() == 4);
  finish(kv, 0, first, 50);
  CHECK(kv.pool().used_blocks() == 0);
  CHECK(kv.pool().cached_blocks == 2);
  CHECK(set_aside(kv, 1, Prompt(1, {{7, 40}}, 7), 33) == 32);
  CHECK(kv.pool().used_blocks() == 5);
  CHECK(set_aside(kv, 2, Prompt(2, {{7, 40}}), 8) == 32);
  CHECK(kv.pool().used_blocks() == 6);
  CHECK(kv.pool().shared_blocks == 2);
}

// Pieces of 32 and 16, the first in common. While both run nothing is known. The first leaves 3
// blocks; of the second's, 2 are copies, free at once, and its own third goes on behind the
// first's.
TEST_CASE("prompts are known when they leave, and go on behind what another has left") {
  PagedKv kv = reserving_pool(8);
  const Prompt first(0, {{7, 32}, {8, 16}});
  const Prompt second(1, {{7, 32}, {9, 16}});
  const Prompt look(2, {{7, 32}, {9, 16}}, 5);
  CHECK(set_aside(kv, 0, first, 1) == 0);
  CHECK(set_aside(kv, 1, second, 1) == 0);
  CHECK(kv.cached_prefix(2, look.request) == 0);
  finish(kv, 0, first, 48);
  CHECK(kv.cached_prefix(2, look.request) == 32);
  finish(kv, 1, second, 48);
  CHECK(kv.cached_prefix(2, look.request) == 48);
  CHECK(kv.pool().cached_blocks == 4);
  CHECK(kv.pool().free_blocks == 8);
}

TEST_CASE("neither an answer nor a prompt that wants log-probabilities becomes known") {
  PagedKv kv = reserving_pool(100);
  const Prompt turn(0, {{7, 32}}, 0, 70);
  CHECK(set_aside(kv, 0, turn, 32) == 0);
  finish(kv, 0, turn, 63);
  CHECK(kv.cached_prefix(1, Prompt(1, {{7, 32}, {70, 32}}).request) == 32);
  Prompt wants(2, {{9, 32}});
  wants.request.prompt_logprobs = true;
  CHECK(set_aside(kv, 2, wants, 8) == 0);
  finish(kv, 2, wants, 39);
  CHECK(kv.pool().cached_blocks == 2);
}

// A block of 16 is found whole, and its last token computed again; of single tokens the last one is
// a copy. A prompt that was computed up to token 20 is known for one block.
TEST_CASE("a fully cached prompt computes one token where a pool sets aside") {
  for (const std::int32_t block : {1, 16}) {
    PagedKv kv = reserving_pool(200, block);
    const Prompt first(0, {{7, 32}});
    const Prompt second(1, {{7, 32}});
    CHECK(set_aside(kv, 0, first, 16) == 0);
    finish(kv, 0, first, 32);
    CHECK(set_aside(kv, 1, second, 16) == 31);
    CHECK(kv.pool().used_blocks() == 48 / block);
    finish(kv, 1, second, 40);
    CHECK(kv.pool().cached_blocks == 32 / block);
    CHECK(kv.pool().free_blocks == 200);
  }
  PagedKv kv = reserving_pool(9);
  const Prompt cut(0, {{7, 64}});
  CHECK(set_aside(kv, 0, cut, 8) == 0);
  kv.release(0, cut.request, 20, KvRelease::dropped);
  CHECK(kv.cached_prefix(1, Prompt(1, {{7, 64}}).request) == 16);
}

// 8 blocks: 2 of text 7 and 2 of text 8 are cached, 3 are held. One that finds text 7 and needs 6
// blocks in all does not fit into 5, and leaves nothing cached but what it found.
TEST_CASE("a request that does not fit empties the cache but for its own prefix") {
  PagedKv kv = reserving_pool(8);
  const Prompt texts[] = {{0, {{7, 32}}}, {1, {{8, 32}}}};
  for (const Prompt& text : texts) {
    CHECK(set_aside(kv, 0, text, 1) == 0);
    finish(kv, 0, text, 32);
  }
  const Prompt holder(2, {}, 40);
  CHECK(set_aside(kv, 2, holder, 8) == 0);
  CHECK(kv.pool().cached_blocks == 4);
  const Prompt head(3, {{7, 32}}, 32);
  CHECK(set_aside(kv, 3, head, 32) == -1);
  CHECK(kv.pool().free_blocks == 5);
  CHECK(kv.pool().cached_blocks == 2);
  CHECK(kv.cached_prefix(3, head.request) == 32);
  finish(kv, 2, holder, 47);
  CHECK(set_aside(kv, 3, head, 32) == 32);
}

}  // namespace
}  // namespace headroom::paged_sharing_test
