// What is found of windows in a paged pool's prefix cache, one behaviour each (docs/semantics.md
// 27). Equality with single ids in tables: tests/oracle/window_pool_test.cpp.

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "scheduler/batching/vllm.hpp"
#include "scheduler/kv/paged.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/unit/scheduler/prompt_fixture.hpp"

namespace headroom::window_prefix_test {
namespace {

// Blocks of 16; a group that keeps every token beside one with a window of 24: at most
// ceil(23 / 16) + 1 = 3 blocks between steps, and 2 of them behind a hit.
PagedKvOptions options_of(BlockCount blocks) {
  KvLayout layout;
  layout.groups = {{KvGroupKind::full, 4, 16, 0}, {KvGroupKind::sliding, 4, 16, 24}};
  return {.blocks = blocks, .sequence = SequenceBlocks(layout, 256)};
}

using test::admit;
using test::Prompt;

// A prompt of the first tokens of text 7, and `own` that nobody else has.
Prompt of_text(std::uint64_t index, std::int32_t tokens, std::int32_t own = 0) {
  return {index, {{7, tokens}}, own};
}

// 64 ids, 160 tokens of the text computed and released. In the free list: 44 that were never used,
// blocks 6 .. 0 of the window, which left it behind the prompt's step, then 9 .. 0 of the first
// group, then 9 .. 7 of the window. `overwritten` ids from the front are used for something else.
void use_text(PagedKv& kv, BlockCount overwritten) {
  const Prompt first = of_text(0, 160);
  CHECK(admit(kv, 0, first) == 0);
  CHECK(kv.pool().used_blocks() == 20);
  kv.windows()->begin_plan();
  CHECK(kv.pool().used_blocks() == 10 + 3);
  kv.release(0, first.request, 160, KvRelease::finished);
  CHECK(kv.pool().cached_blocks == 20);
  kv.take(overwritten);
}

TEST_CASE("a hit needs the blocks of a window at its end, not those before them") {
  PagedKv kv(options_of(64));
  use_text(kv, 44 + 7);
  const Prompt longer = of_text(1, 160, 16);
  CHECK(kv.cached_prefix(1, longer.request) == 160);
  // 64 - 51 = 13 are free, and it needs the 10 + 2 that it found and 2 of its own.
  CHECK_FALSE(
      kv.try_grow({.id = 1, .request = &longer.request, .cached_tokens = 160, .hold_tokens = 176}));
}

TEST_CASE("a hit ends where the window before it is known, however much the others have") {
  const auto [overwritten, hit] = GENERATE(table<BlockCount, TokenCount>(
      {{0, 80},    // blocks 3 and 4 are there
       {3, 64},    // 6, 5 and 4 are gone: 2 and 3 are known behind 64 tokens
       {5, 32},    // 2 and more are gone: 0 and 1
       {6, 16},    // only 0 is there: as much as a prefix of one block needs
       {7, 0}}));  // while all five blocks of the first group are
  PagedKv kv(options_of(64));
  use_text(kv, 44 + overwritten);
  CHECK(kv.cached_prefix(1, of_text(1, 80, 16).request) == hit);
}

TEST_CASE("requests that begin alike hold the window before their hit together") {
  PagedKv kv(options_of(64));
  const Prompt first = of_text(0, 160);
  const Prompt second = of_text(1, 160, 16);
  CHECK(admit(kv, 0, first) == 0);
  CHECK(admit(kv, 1, second) == 160);  // in the same plan
  // Of its own it has the last block, in both groups.
  CHECK(kv.pool().used_blocks() == 20 + 2);
  CHECK(kv.pool().shared_blocks == 10 + 2);
  kv.windows()->begin_plan();
  // The first keeps blocks 7 .. 9 of its window, the second 8 .. 10.
  CHECK(kv.pool().used_blocks() == 10 + 3 + 2);
  kv.release(0, first.request, 160, KvRelease::finished);
  CHECK(kv.pool().used_blocks() == 11 + 3);
  CHECK(kv.pool().shared_blocks == 0);
}

TEST_CASE("what decodes push out of a window stays known until it is overwritten") {
  PagedKv kv(options_of(20));
  const Prompt first = of_text(0, 48);
  CHECK(admit(kv, 0, first) == 0);
  kv.windows()->begin_plan();
  CHECK(kv.pool().used_blocks() == 6);
  kv.windows()->move(0, first.request,
                     49);  // block 0 leaves, block 3 is taken: the number of ids stays
  kv.take(1);
  CHECK(kv.pool().used_blocks() == 4 + 3);
  CHECK(kv.pool().cached_blocks == 1);
  CHECK(kv.cached_prefix(1, of_text(1, 16, 16).request) == 16);
  kv.take(13);
  CHECK(kv.cached_prefix(1, of_text(1, 16, 16).request) == 0);
  CHECK(kv.cached_prefix(2, of_text(2, 48, 16).request) == 48);  // blocks 1 and 2 are held
}

TEST_CASE("a block that others hold leaves a window only when there is another one") {
  PagedKv kv(options_of(13));
  const Prompt first = of_text(0, 48);
  const Prompt second = of_text(1, 48, 16);
  CHECK(admit(kv, 0, first) == 0);
  CHECK(admit(kv, 1, second) == 48);  // shares 3 of the first group, blocks 1 and 2 of the window
  CHECK(kv.pool().used_blocks() == 6 + 2);
  kv.windows()->begin_plan();
  kv.take(5);
  kv.windows()->move(1, second.request, 65);  // its window: 1, 2, 3; the first request keeps 1
  CHECK(kv.pool().used_blocks() == 13);
  kv.release(0, first.request, 48, KvRelease::finished);  // block 0 of the window is free
  kv.windows()->move(1, second.request, 65);              // 1 leaves, and 4 takes the id of 0
  CHECK(kv.pool().free_blocks == 1);
}

test::PolicySetup setup_of(BlockCount pool_blocks, std::int32_t depth) {
  SchedulerOptions options;
  options.max_num_seqs = 6;
  options.max_num_batched_tokens = 64;
  options.max_model_len = 1000;
  test::PolicySetup setup;
  setup.kv = std::make_unique<PagedKv>(options_of(pool_blocks));
  setup.scheduler = std::make_unique<VllmScheduler>(options);
  setup.options.max_sequences = 6;
  setup.options.max_step_tokens = 64;
  setup.options.pipeline_depth = depth;
  setup.limits.max_model_len = 1000;
  setup.limits.max_request_tokens = setup.kv->sequence().longest(pool_blocks);
  return setup;
}

TEST_CASE("windows that are shared: jumps, single steps and random cuts are the same") {
  static const std::vector<PrefixSegment> kLong{{7, 90}};
  static const std::vector<PrefixSegment> kShort{{7, 40}};
  std::vector<Arrival> arrivals;
  for (std::int32_t i = 0; i < 16; ++i) {
    Arrival arrival;
    arrival.prefix = i % 3 == 0 ? kShort : kLong;
    arrival.prompt_tokens = (i % 3 == 0 ? 40 : 90) + 31 * i % 70;
    arrival.output_tokens = arrival.max_tokens = 1 + 29 * i % 90;
    arrival.time_ns = 40'000 * i;
    arrivals.push_back(arrival);
  }
  for (const std::int32_t depth : {1, 2}) {
    for (const BlockCount blocks : {34, 60}) {
      test::check_cut_invariance([=] { return setup_of(blocks, depth); }, arrivals);
    }
  }
}

// Blocks of 16, a window of 40 (up to 4 blocks), chunks of 16. B (priority 5) and E (4) compute
// prompts of 32 in two steps; C (0) finds B's 32 in the second one and computes 16 more. They hold
// 4 + 4 + 2 of 13 ids, and in the third step each wants 2, while 3 are free. B, the first victim,
// frees nothing: C holds all it has. So E goes too, and C alone holds 49 tokens: 4 + 4 ids.
TEST_CASE("a victim that needs several ids leaves nothing taken that nobody needs") {
  static const std::vector<PrefixSegment> kText{{7, 32}};
  KvLayout layout;
  layout.groups = {{KvGroupKind::full, 4, 16, 0}, {KvGroupKind::sliding, 4, 16, 40}};
  test::PolicySetup setup = setup_of(13, 1);
  setup.kv = std::make_unique<PagedKv>(
      PagedKvOptions{.blocks = 13, .sequence = SequenceBlocks(layout, 64)});
  SchedulerOptions options;
  options.max_num_seqs = 6;
  options.max_num_batched_tokens = 64;
  options.long_prefill_token_threshold = 16;
  options.max_model_len = 1000;
  options.own.edit<VllmScheduling>().scheduling_policy = "priority";
  setup.scheduler = std::make_unique<VllmScheduler>(options);
  std::vector<Arrival> arrivals(3);
  for (Arrival& each : arrivals) {
    each.prompt_tokens = 32;
    each.output_tokens = each.max_tokens = 4;
  }
  arrivals[0].prefix = arrivals[2].prefix = kText;
  arrivals[0].priority = 5;
  arrivals[1].priority = 4;
  arrivals[2].prompt_tokens = 48;
  arrivals[2].time_ns = 5'000;
  const test::PolicyRun run = test::run_policy(std::move(setup), arrivals);
  CHECK(run.order_of(EngineEventKind::preempted) == std::vector<std::uint64_t>{0, 1});
  REQUIRE(run.steps.size() > 3);
  CHECK(run.steps[1].used_blocks == 10);
  CHECK(run.steps[2].used_blocks == 8);
}

}  // namespace
}  // namespace headroom::window_prefix_test
