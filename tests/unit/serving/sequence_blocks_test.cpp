#include "sim/serving/sequence_blocks.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "sim/serving/kv_layout.hpp"

namespace headroom::sequence_blocks_test {
namespace {

KvLayout layout_of(std::int32_t block, std::vector<KvGroup> beside) {
  KvLayout layout;
  layout.block_tokens = block;
  layout.groups = {{KvGroupKind::full, 4, block, 0}};
  layout.groups.insert(layout.groups.end(), beside.begin(), beside.end());
  return layout;
}

KvGroup sliding(std::int32_t block, TokenCount window) {
  return {KvGroupKind::sliding, 4, block, window};
}

// Blocks of one group as vLLM keeps them: whole blocks of tokens behind the window are given up
// before the blocks of a step's tokens are taken (ENGINES.md 2.4).
BlockCount listed(TokenCount before, TokenCount after, TokenCount window, std::int32_t block) {
  const TokenCount skipped = std::max<TokenCount>(0, before - window + 1);
  return blocks_needed(after, block) - skipped / block;
}

TEST_CASE("a gpt-oss sequence holds 9 blocks of its window in decode, all of them in a prefill") {
  // ENGINES.md 12.1, vector 4: one prompt of 4096 tokens, 8192 to a step.
  const SequenceBlocks blocks(layout_of(16, {sliding(16, 128)}), 8192);
  CHECK(blocks.beside_in_step(0, 4096) == 256);
  CHECK(blocks.beside_to_admit(4096) == 256);
  CHECK(blocks.held(4096) == 256 + 9);
  CHECK(blocks.new_in_step(4096, 4097) == 1);  // the window moves on in the blocks that it has
}

TEST_CASE("a Gemma-3 request of 131072 tokens is admitted with 577 blocks for each window") {
  // Vector 5: 8192 + 6 * 577 = 11654 ids; ceil((1023 + 8192) / 16) + 1 = 577.
  const SequenceBlocks blocks(layout_of(16, std::vector<KvGroup>(6, sliding(16, 1024))), 8192);
  CHECK(blocks.beside_to_admit(131072) == 6 * 577);
  CHECK(blocks.longest(11654) == 131072);
  CHECK(blocks.longest(11653) == 131072 - 16);
}

TEST_CASE("between steps a window has what vLLM lists or one block more") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    const auto block = static_cast<std::int32_t>(2 + random() % 20);
    const auto window = static_cast<TokenCount>(
        round % 2 == 0 ? 2 + random() % 200 : static_cast<unsigned>(block) * (1 + random() % 8));
    const SequenceBlocks blocks(layout_of(block, {sliding(block, window)}), 64);
    CAPTURE(block, window);
    BlockCount more = 0;
    constexpr TokenCount kSteps = 400;
    for (TokenCount before = 1; before <= kSteps; ++before) {
      const BlockCount list = listed(before, before + 1, window, block);
      const BlockCount held = blocks.beside(before + 1);
      REQUIRE((held == list || held == list + 1));
      more += held - list;
    }
    // Windows of whole blocks, which is what models have: in one step of a block.
    if (window % block == 0) CHECK(more <= kSteps / block + 1);
  }
}

TEST_CASE("in a step that computes many tokens a window has at least what vLLM lists") {
  std::mt19937_64 random(4);
  const SequenceBlocks blocks(layout_of(16, {sliding(16, 100)}), 512);
  for (int round = 0; round < 1000; ++round) {
    const auto before = static_cast<TokenCount>(random() % 600);
    const TokenCount after = before + 1 + static_cast<TokenCount>(random() % 512);
    const BlockCount list = listed(before, after, 100, 16);
    const BlockCount steady = blocks.beside(after);
    CHECK(blocks.beside_in_step(before, after) == std::max(list, steady));
    CHECK(blocks.beside_in_step(before, after) <= blocks.beside_to_admit(after));
  }
}

TEST_CASE("what a further block takes becomes less where a window is full") {
  // 100 tokens: ceil(99 / 16) + 1 = 8 blocks; 40 tokens in blocks of 8: two ids to a block of 16,
  // ceil(39 / 16) + 1 = 4 blocks.
  const SequenceBlocks blocks(layout_of(16, {sliding(16, 100), sliding(8, 40)}), 512);
  CHECK(blocks.ids_per_block(63) == 1 + 1 + 2);
  CHECK(blocks.next_change(63) == 64);
  CHECK(blocks.ids_per_block(64) == 1 + 1);
  CHECK(blocks.next_change(64) == 128);
  CHECK(blocks.ids_per_block(128) == 1);
  CHECK(blocks.next_change(128) == INT64_MAX);
  for (TokenCount tokens = 1; tokens < 300; ++tokens) {
    const bool crosses = tokens % 16 == 0;
    CHECK(blocks.held(tokens + 1) - blocks.held(tokens) ==
          (crosses ? blocks.ids_per_block(tokens) : 0));
    CHECK(blocks.kept(tokens + 1) - blocks.kept(tokens) == blocks.ids_per_block(tokens));
  }
}

TEST_CASE("a full window moves whenever a further block begins") {
  const SequenceBlocks blocks(layout_of(16, {sliding(16, 128)}), 8192);  // 9 blocks: 144 tokens
  CHECK(blocks.next_move(100) == 144);
  CHECK(blocks.next_move(144) == 144);
  CHECK(blocks.next_move(145) == 160);
  CHECK(SequenceBlocks(16).next_move(100) == INT64_MAX);
}

TEST_CASE("a prompt behind a cached prefix needs the window before it and what follows") {
  // 4096 tokens, 2048 of them found: 128 blocks of a cap of ceil((127 + 8192) / 16) + 1, and the
  // 8 blocks that the next token attends to.
  const SequenceBlocks blocks(layout_of(16, {sliding(16, 128)}), 8192);
  CHECK(blocks.beside_to_admit(4096, 2048) == 128 + 8);
  // Steps of 64 tokens: a cap of ceil(191 / 16) + 1 = 13 blocks, which were found all.
  const SequenceBlocks small(layout_of(16, {sliding(16, 128)}), 64);
  CHECK(small.beside_to_admit(4096, 2048) == 8);
}

TEST_CASE("a state takes one id of a sequence, a chunk of attention at most its own blocks") {
  const KvGroup state{KvGroupKind::recurrent, 4, 16, 0};
  const KvGroup chunk{KvGroupKind::chunked, 4, 16, 64};
  const SequenceBlocks blocks(layout_of(16, {state, state, chunk}), 512);
  CHECK(blocks.held(1) == 1 + 2 + 1);
  CHECK(blocks.held(1000) == 63 + 2 + 4);
  CHECK(blocks.beside_in_step(70, 200) == 2 + 13 - 4);  // the chunk before 64 is done with
}

TEST_CASE("layers that are all alike need no rule of their own") {
  const SequenceBlocks blocks(16);
  CHECK(blocks.uniform());
  CHECK(blocks.held(33) == 3);
  CHECK(blocks.kept(33) == 33);
  CHECK(blocks.ids_per_block(1000) == 1);
  CHECK(blocks.longest(7) == 112);
  CHECK_FALSE(SequenceBlocks::can_follow(layout_of(1, {sliding(1, 8)})));
  CHECK_FALSE(SequenceBlocks::can_follow(layout_of(16, {sliding(24, 8)})));
  KvLayout two_windows;
  two_windows.groups = {sliding(16, 8), sliding(16, 24)};
  CHECK_FALSE(SequenceBlocks::can_follow(two_windows));
}

// C = ceil(23 / 16) + 1 = 3; a step of 64 tokens needs ceil((23 + 64) / 16) + 1 = 7.
TEST_CASE("one window of all layers is all that a sequence holds") {
  KvLayout layout;
  layout.groups = {sliding(16, 24)};
  REQUIRE(SequenceBlocks::can_follow(layout));
  const SequenceBlocks blocks(layout, 64);
  CHECK_FALSE(blocks.uniform());
  CHECK(blocks.every() == 0);
  CHECK(blocks.held(20) == 2);
  CHECK(blocks.held(1000) == 3);
  CHECK(blocks.new_in_step(64, 128) == 8 - (64 - 23) / 16 - 3);
  CHECK(blocks.ids_per_block(47) == 1);
  CHECK(blocks.ids_per_block(48) == 0);
  CHECK(blocks.kept(1000) == 48);
  CHECK(blocks.longest(6) == 6 * 16);
  CHECK(blocks.longest(7) > 1'000'000);
}

// With 3 drafts and as much lookahead: ceil((23 + 6) / 16) + 1 = 3, of 10 more tokens 4.
TEST_CASE("slots for drafts lengthen a window") {
  KvLayout layout;
  layout.groups = {sliding(16, 24)};
  CHECK(SequenceBlocks(layout, 64, 6).held(1000) == 3);
  CHECK(SequenceBlocks(layout, 64, 10).held(1000) == 4);
}

}  // namespace
}  // namespace headroom::sequence_blocks_test
