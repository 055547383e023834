// What simulators often get wrong (ENGINES.md 12.2). Each trap about scheduling has a test here
// that fails if it is fallen into. The others, and the exact vectors 9 to 14 of ENGINES.md 12.1:
//   fractions of total, left, available or warmed-up memory  unit/hardware/*_budget_test.cpp
//   which free memory an engine reads, page cache, cgroups   unit/hardware/environment_test.cpp
//   rates of a benchmark that are rescaled                   unit/workloads/arrivals_test.cpp
//   SGLang's estimate in numbers, over 600 decode steps      sglang_test.cpp
//   vector 9, hits of a fully cached prompt                  paged_sharing_test.cpp
//   vector 10, capture sizes                                 unit/hardware/affine_test.cpp
//   vector 11, one token budget for decodes and prompts      engine_vectors_test.cpp
//   vector 12, preemption                                    here, and engine_vectors_test.cpp
//   vector 13, order of retraction                           sglang_test.cpp
//   vector 14, blocks to completion or one step ahead        trtllm_test.cpp
//
// Blocks of 16 tokens; steps of 10 us + 1 us per prompt token + 1 us per decoding row.

#include <memory>
#include <utility>
#include <vector>

#include "scheduler/batching/sglang.hpp"
#include "scheduler/batching/tgi.hpp"
#include "scheduler/batching/trtllm.hpp"
#include "scheduler/batching/vllm.hpp"
#include "tests/support/production.hpp"
#include "tests/unit/scheduler/policy_fixture.hpp"

namespace headroom::engine_traps_test {
namespace {

using test::arrival;
using test::kUs;
using test::plain_pool;
using test::PolicyRun;
using test::PolicySetup;

PolicySetup vllm(const SchedulerOptions& options, const PagedKvOptions& pool, int depth = 1) {
  return test::paged_setup<VllmScheduler>(options, pool, depth);
}

PolicyRun run_vllm(BlockCount blocks, std::vector<Arrival> arrivals, double watermark = 0) {
  SchedulerOptions options = test::seats_and_tokens(16, 256);
  options.watermark = watermark;
  return test::run_policy(vllm(options, plain_pool(blocks)), std::move(arrivals));
}

// --- seats, tokens and blocks -------------------------------------------------------------------

TEST_CASE("seats, tokens and blocks each limit a step of vllm when the other two are ample") {
  // Six prompts of one block: 96 tokens, 6 seats, 6 blocks.
  struct Case {
    std::int32_t seats, tokens;
    BlockCount blocks;
    std::int64_t rows;
  };
  for (const Case& c : {Case{6, 96, 6, 6}, {2, 96, 6, 2}, {6, 48, 6, 3}, {6, 96, 4, 4}}) {
    CAPTURE(c.seats, c.tokens, c.blocks);
    const std::vector<Arrival> six(6, arrival(0, 16, 1));
    const PolicyRun run = test::run_policy(
        vllm(test::seats_and_tokens(c.seats, c.tokens), plain_pool(c.blocks)), six);
    CHECK(run.steps.front().chunk_rows == c.rows);
    CHECK(run.steps.front().chunk_tokens == 16 * c.rows);
    CHECK(run.steps.front().used_blocks == c.rows);
  }
}

// --- what an admission sets aside ---------------------------------------------------------------

// 18 blocks. A: 64 tokens and 40 of at most 192, alone from 0 to 74 + 39 * 11 = 503 us. B: 16
// tokens and one of at most 32 arrives at 75 us; the next plan is at 74 + 11 = 85 us. Whether B
// starts then; else it starts when A is done.
bool runs_beside(PolicySetup setup) {
  Arrival a = arrival(0, 64, 192);
  a.output_tokens = 40;
  Arrival b = arrival(75 * kUs, 16, 32);
  b.output_tokens = 1;
  const PolicyRun run = test::run_policy(std::move(setup), {a, b});
  if (run.requests[1].first_scheduled_ns == 85 * kUs) return true;
  CHECK(run.requests[0].finish_ns == 503 * kUs);
  CHECK(run.requests[1].first_scheduled_ns == 503 * kUs);
  return false;
}

TEST_CASE("vllm sets nothing aside for output, TRT-LLM and TGI all of it") {
  // A holds 5 blocks at 85 us, so 13 are free. To completion it needs (64 + 192) / 16 = 16, and the
  // 2 that remain are less than B's (16 + 32) / 16 = 3.
  const SchedulerOptions options = test::seats_and_tokens(16, 256);
  CHECK(runs_beside(vllm(options, plain_pool(18))));

  PolicySetup trtllm;
  trtllm.scheduler = std::make_unique<TrtllmScheduler>(options);
  trtllm.kv = std::make_unique<PagedKv>(plain_pool(18));
  const bool beside = runs_beside(std::move(trtllm));
  CHECK_FALSE(beside);

  PagedKvOptions reserving = plain_pool(18);
  reserving.reserve_final = true;
  CHECK_FALSE(runs_beside(test::paged_setup<TgiScheduler>(options, reserving)));
}

TEST_CASE("sglang sets aside a share of the output that is still to come") {
  // At 85 us A has 192 - 2 tokens to come, 13 blocks = 208 tokens are free, and B counts as 16 + 32
  // and a page of 16: 64. At a ratio just below .7 that is 64 + 132 < 208; at .91, 64 + 172 is not,
  // and the batch counts as full until A leaves.
  SchedulerOptions options = test::seats_and_tokens(16, 256);
  CHECK(runs_beside(test::paged_setup<SglangScheduler>(options, plain_pool(18))));
  options.own.edit<SglangScheduling>().schedule_conservativeness = 1.3;
  CHECK_FALSE(runs_beside(test::paged_setup<SglangScheduler>(options, plain_pool(18))));
}

// --- watermark and preemption -------------------------------------------------------------------

TEST_CASE("the watermark holds back a waiting request, never a running one") {
  // Half of 10 blocks. A's 96 tokens leave 4 free: admitted all the same, because nothing runs.
  // Its last step is that of token 96 + 32 = 128 = 8 blocks: it grows into the watermark. B, of one
  // block, waits until A is done at 106 + 32 * 11 = 458 us.
  const std::vector<Arrival> two = {arrival(0, 96, 33), arrival(1, 16, 1)};
  const PolicyRun run = run_vllm(10, two, 0.5);
  CHECK(run.requests[0].preemptions == 0);
  CHECK(run.requests[0].finish_ns == 458 * kUs);
  CHECK(run.requests[1].first_scheduled_ns == 458 * kUs);
  CHECK(run_vllm(10, two).requests[1].first_scheduled_ns == 106 * kUs);
}

// Half of 10 blocks are 5, of which 9 are usable: the null block counts. A holds 4 and leaves 5; B,
// of one block, would leave 4, and waits until A is done at 60 + 7 * 11 = 137 us.
TEST_CASE("the watermark of vllm is a share of all blocks, the null block included") {
  const std::vector<Arrival> two = {arrival(0, 50, 8), arrival(1, 16, 1)};
  CHECK(run_vllm(9, two, 0.5).requests[1].first_scheduled_ns == 137 * kUs);
  CHECK(run_vllm(10, two, 0.5).requests[1].first_scheduled_ns == 60 * kUs);
}

// A prompt of 16 and an answer of 16 of up to 20: the KV of 31 tokens, one full block. The ghost
// row of an asynchronous engine writes that of the answer's last token, which the engine never
// learns. So the next turn, of these 32 tokens and 8 more, finds one block at either depth.
TEST_CASE("the token of a ghost row is not cached") {
  const std::vector<PrefixSegment> prompt = {{7, 16}};
  const std::vector<PrefixSegment> next = {{7, 16}, {70, 16}, {8, 8}};
  std::vector<Arrival> turns = {arrival(0, 16, 20), arrival(1000 * kUs, 40, 1)};
  turns[0].output_tokens = 16;
  turns[0].prefix = prompt;
  turns[0].output_segment = 70;
  turns[1].prefix = next;
  for (const int depth : {1, 2}) {
    const PolicyRun run =
        test::run_policy(vllm(test::seats_and_tokens(16, 256), {.blocks = 100}, depth), turns);
    CHECK(run.ghost_rows == depth - 1);
    TokenCount found = 0;
    for (const EngineEvent& event : run.events) {
      if (event.kind == EngineEventKind::admitted && event.request == 1)
        found = event.cached_tokens;
    }
    CHECK(found == 16);
  }
}

TEST_CASE("a waiting request preempts nobody, however urgent it is") {
  // 4 blocks. A: 48 tokens are 3 of them; it is done at 58 + 7 * 11 = 135 us. B needs 2.
  for (const char* policy : {"fcfs", "priority"}) {
    SchedulerOptions options = test::seats_and_tokens(16, 256);
    options.own.edit<VllmScheduling>().scheduling_policy = policy;
    const PolicyRun run = test::run_policy(vllm(options, plain_pool(4)),
                                           {arrival(0, 48, 8, 1), arrival(1, 32, 1, 0)});
    CHECK(run.requests[0].preemptions == 0);
    CHECK(run.requests[1].first_scheduled_ns == 135 * kUs);
  }
}

TEST_CASE("vector 12: r1 and r2 share the blocks of r3, and nobody enters in that step") {
  // 7 blocks: r1 and r2 have 2 each, r3 has 3, all full after the first step (10 + 112 = 122 us).
  // Then r1 and r2 need a third block: r3 goes, and they take its last two (freed tail first), so
  // that its first one can still be found. W, of one block, waits since 1 ns: at 122 us one block
  // is free, but there was a preemption; at 134 us r3 stands before it and needs 4 - 1 blocks. When
  // r1 and r2 are done at 146 us, r3 computes 48 + 1 - 16 tokens, and W its 10.
  PagedKvOptions pool = plain_pool(7);
  pool.enable_prefix_caching = true;
  const PolicyRun run = test::run_policy(
      vllm(test::seats_and_tokens(16, 256), pool),
      {arrival(0, 32, 3), arrival(0, 32, 3), arrival(0, 48, 3), arrival(1, 10, 1)});
  CHECK(run.order_of(EngineEventKind::preempted) == std::vector<std::uint64_t>{2});
  CHECK(run.order_of(EngineEventKind::admitted) == std::vector<std::uint64_t>{0, 1, 2, 2, 3});
  REQUIRE(run.steps.size() >= 4);
  CHECK(run.steps[0].used_blocks == 7);
  for (const std::size_t step : {1U, 2U}) {
    CHECK(run.steps[step].decode_rows == 2);
    CHECK(run.steps[step].chunk_rows == 0);
    CHECK(run.steps[step].used_blocks == 6);
  }
  CHECK(run.steps[3].begin_ns == 146 * kUs);
  CHECK(run.steps[3].chunk_rows == 2);
  CHECK(run.steps[3].chunk_tokens == 48 + 1 - 16 + 10);
}

// --- the last token has no KV -------------------------------------------------------------------

TEST_CASE("a block is taken when token 16k + 1 is computed, not when token 16k is sampled") {
  // Of 15 + 3 tokens the first three steps hold 15, 16 and 17 with KV, the 18th never gets any; of
  // 16 + 3, 16, 17 and 18.
  const auto blocks_of = [](std::int32_t prompt) {
    std::vector<BlockCount> blocks;
    for (const test::PolicyStep& step : run_vllm(10, {arrival(0, prompt, 3)}).steps) {
      blocks.push_back(step.used_blocks);
    }
    return blocks;
  };
  CHECK(blocks_of(15) == std::vector<BlockCount>{1, 1, 2});
  CHECK(blocks_of(16) == std::vector<BlockCount>{1, 2, 2});
  CHECK(blocks_of(32) == std::vector<BlockCount>{2, 3, 3});
}

TEST_CASE("two requests of 16 tokens with KV fit two blocks, whatever they sample last") {
  const auto preemptions = [](std::int32_t prompt, std::int32_t output) {
    const std::vector<Arrival> two(2, arrival(0, prompt, output));
    return run_vllm(2, two).order_of(EngineEventKind::preempted).size();
  };
  CHECK(preemptions(16, 1) == 0);
  CHECK(preemptions(15, 2) == 0);
  CHECK(preemptions(15, 3) == 1);
  CHECK(preemptions(16, 2) == 1);
}

// --- what a preemption costs --------------------------------------------------------------------

// 3 blocks. A (16 + 5) and B (16 + 3) have their first tokens at 42 us. Both need a second block,
// one is free: B goes, with one token out, until A is done at 42 + 4 * 11 = 86 us.
oracle::Scenario one_preemption(bool caching) {
  oracle::Scenario s;
  s.block_size = 16;
  s.kv_blocks = 3;
  s.prefix_caching = caching;
  s.cost = {.step = 10 * kUs * kTicksPerNs,
            .decode_row = kUs * kTicksPerNs,
            .chunk_token = kUs * kTicksPerNs};
  s.arrivals = {{0, 16, 5, 5, 0}, {0, 16, 3, 3, 0}};
  return s;
}

TEST_CASE("a preempted request computes prompt and output again, less what it still finds") {
  // 17 tokens from 86 to 113 us, then its third token at 124 us. Its block of 16 was not needed, so
  // with a prefix cache it computes 1 token, from 86 to 97 us.
  const oracle::Result cold = test::run_production(one_preemption(false));
  CHECK(cold.requests[1].preemptions == 1);
  CHECK(cold.totals.prefill_tokens == 32 + 17);
  CHECK(cold.requests[1].finish_ns == 124 * kUs);
  const oracle::Result warm = test::run_production(one_preemption(true));
  CHECK(warm.totals.prefill_tokens == 32 + 1);
  CHECK(warm.requests[1].finish_ns == 108 * kUs);
}

TEST_CASE("a preemption leaves TTFT as it was and is seen in one inter-token latency") {
  // Gaps: 11 us four times for A; 113 - 42 = 71 us and 11 us for B.
  const oracle::Result result = test::run_production(one_preemption(false));
  CHECK(result.requests[1].first_token_ns == 42 * kUs);
  CHECK(result.totals.gaps == 6);
  const TickSum us = kUs * kTicksPerNs;
  CHECK((result.totals.gap_ticks == (5 * 11 + 71) * us));
  CHECK((result.totals.gap_ticks_squared == (5 * 11 * 11 + 71 * 71) * us * us));
}

// --- the end of a sequence under asynchronous scheduling ----------------------------------------

TEST_CASE("an end that nobody could foresee costs one step more when steps are planned ahead") {
  // One seat. A has its three tokens at 26, 37 and 48 us, and B computes its 16 tokens in 26 us
  // from then on. If A could have gone on to 10 tokens, a step with its row is in flight at 48 us:
  // B comes after it, 11 us later.
  const auto first_token_of_b = [](std::int32_t max_tokens, int depth) {
    Arrival a = arrival(0, 16, 3);
    a.max_tokens = max_tokens;
    const PolicyRun run = test::run_policy(
        vllm(test::seats_and_tokens(1, 256), plain_pool(10), depth), {a, arrival(1, 16, 1)});
    CHECK(run.requests[0].finish_ns == 48 * kUs);
    return run.requests[1].first_token_ns;
  };
  CHECK(first_token_of_b(3, 1) == 74 * kUs);
  CHECK(first_token_of_b(10, 1) == 74 * kUs);
  CHECK(first_token_of_b(3, 2) == 74 * kUs);  // a run of fixed length does not pay
  CHECK(first_token_of_b(10, 2) == 85 * kUs);
}

// --- benchmarks
// -----------------------------------------------------------------------------------

TEST_CASE("the test request before a benchmark leaves its prompt in the prefix cache") {
  // `vllm bench serve` sends its first prompt once, untimed, before the run. 40 tokens: two full
  // blocks are found again, 8 tokens are computed instead of 40; a prompt that nobody sent is
  // computed in full.
  const std::vector<PrefixSegment> first{{7, 40}};
  const std::vector<PrefixSegment> other{{8, 40}};
  Arrival warm_up = arrival(0, 40, 1);
  warm_up.prefix = first;
  Arrival timed = arrival(1'000 * kUs, 40, 1);
  timed.prefix = first;
  Arrival cold = arrival(2'000 * kUs, 40, 1);
  cold.prefix = other;
  const PolicyRun run = test::run_policy(
      vllm(test::seats_and_tokens(16, 256), PagedKvOptions{.blocks = 100}), {warm_up, timed, cold});
  REQUIRE(run.steps.size() == 3);
  CHECK(run.steps[0].chunk_tokens == 40);
  CHECK(run.steps[1].chunk_tokens == 8);
  CHECK(run.steps[2].chunk_tokens == 40);
}

}  // namespace
}  // namespace headroom::engine_traps_test
