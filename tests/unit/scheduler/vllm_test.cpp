// vLLM V1 beyond first come, first served: long_prefill_token_threshold and priorities
// (ENGINES.md 3.1). Steps cost 10 us + 1 us per prompt token + 1 us per decoding row.

#include "scheduler/batching/vllm.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/scheduler/policy_fixture.hpp"

namespace headroom::vllm_test {
namespace {

using test::arrival;
using test::kUs;
using test::plain_pool;
using test::seats_and_tokens;

test::PolicySetup vllm(const SchedulerOptions& options, const PagedKvOptions& pool, int depth = 1) {
  return test::paged_setup<VllmScheduler>(options, pool, depth);
}

TEST_CASE("with a threshold a second prompt starts while the first is partial") {
  // B = 100, T = 40, prompts of 100 and 30. Step 1: 40 + 30 tokens, 80 us: the second has its first
  // token. Step 2: 1 decode + 40: 51 us. Step 3: 1 decode + 20: 31 us, and the first's token.
  SchedulerOptions options = seats_and_tokens(8, 100);
  const std::vector<Arrival> arrivals{arrival(0, 100, 1), arrival(0, 30, 3)};
  options.long_prefill_token_threshold = 40;
  const test::PolicyRun run = test::run_policy(vllm(options, plain_pool(1000)), arrivals);
  CHECK(run.requests[1].first_token_ns == 80 * kUs);
  CHECK(run.requests[0].first_token_ns == (80 + 51 + 31) * kUs);
  // Without one the first prompt takes the whole budget: 110 us, then the second: 40 us.
  options.long_prefill_token_threshold = 0;
  const test::PolicyRun off = test::run_policy(vllm(options, plain_pool(1000)), arrivals);
  CHECK(off.requests[0].first_token_ns == 110 * kUs);
  CHECK(off.requests[1].first_token_ns == (110 + 40) * kUs);
}

TEST_CASE("a threshold need not cut the prompt of a request that is alone") {
  // B = 100, T = 40, a prompt of 100 alone: one step. With one of 30 beside it: 40 + 30, then
  // 60, since the other has left with its only token (vLLM 0.31).
  SchedulerOptions options = seats_and_tokens(8, 100);
  options.long_prefill_token_threshold = 40;
  options.own.edit<VllmScheduling>().threshold_cuts_lone_prompts = false;
  const test::PolicyRun alone =
      test::run_policy(vllm(options, plain_pool(1000)), {arrival(0, 100, 1)});
  REQUIRE(alone.steps.size() == 1);
  const test::PolicyRun both =
      test::run_policy(vllm(options, plain_pool(1000)), {arrival(0, 100, 1), arrival(0, 30, 1)});
  REQUIRE(both.steps.size() == 2);
  CHECK(both.steps[0].chunk_tokens == 70);
  CHECK(both.steps[1].chunk_tokens == 60);
}

TEST_CASE("several prompts in progress share the budget in order of admission") {
  // B = 100, T = 40, three prompts of 100: 40 + 40 + 20 in steps 1 and 2. Then 20, 20 and 40 are
  // the most they may take (80); the last one has 20 left.
  SchedulerOptions options = seats_and_tokens(8, 100);
  options.long_prefill_token_threshold = 40;
  const test::PolicyRun run =
      test::run_policy(vllm(options, plain_pool(1000)),
                       {arrival(0, 100, 1), arrival(0, 100, 1), arrival(0, 100, 1)});
  REQUIRE(run.steps.size() == 4);
  CHECK(run.steps[0].chunk_tokens == 100);
  CHECK(run.steps[1].chunk_tokens == 100);
  CHECK(run.steps[2].chunk_tokens == 80);
  CHECK(run.steps[3].chunk_tokens == 20);
  CHECK(run.steps[1].chunk_rows == 3);
}

TEST_CASE("a prompt in progress pushes out a decode admitted behind it") {
  // 11 blocks of 16, T = 32. The first prompt (160 tokens) takes 2 blocks a step; the second (16
  // tokens) holds 1, and 2 from its first decode on. After step 4 they hold 8 + 2. Step 5 needs 2
  // more and 1 is free: the second, being the last, is preempted.
  SchedulerOptions options = seats_and_tokens(8, 64);
  options.long_prefill_token_threshold = 32;
  const test::PolicyRun run =
      test::run_policy(vllm(options, plain_pool(11)), {arrival(0, 160, 2), arrival(0, 16, 20)});
  CHECK(run.requests[0].preemptions == 0);
  CHECK(run.requests[1].preemptions == 1);
  CHECK(run.steps[3].used_blocks == 10);
  CHECK(run.steps[4].decode_rows == 0);
  CHECK(run.steps[4].chunk_tokens == 32);
  CHECK(run.steps[4].used_blocks == 10);
}

TEST_CASE("priority admits by (priority, arrival)") {
  SchedulerOptions options = seats_and_tokens(1, 100);
  options.own.edit<VllmScheduling>().scheduling_policy = "priority";
  const test::PolicyRun run = test::run_policy(
      vllm(options, plain_pool(1000)),
      {arrival(0, 9, 3, 3), arrival(0, 9, 3, 5), arrival(0, 9, 3, 1), arrival(1, 9, 3, 1)});
  CHECK(run.order_of(EngineEventKind::admitted) == std::vector<std::uint64_t>{2, 3, 0, 1});
}

TEST_CASE("priority preempts the largest (priority, arrival) first, and takes it back last") {
  // 3 prompts of 16 tokens fill 3 blocks of 16. In step 2 each needs another one. Request 0
  // (priority 2) goes first, then 2 (priority 1): 2 blocks for the 1 that request 1 needs.
  SchedulerOptions options = seats_and_tokens(8, 100);
  options.own.edit<VllmScheduling>().scheduling_policy = "priority";
  const PagedKvOptions pool = plain_pool(3);
  const std::vector<Arrival> arrivals{arrival(0, 16, 9, 2), arrival(0, 16, 9, 0),
                                      arrival(0, 16, 9, 1)};
  const test::PolicyRun run = test::run_policy(vllm(options, pool), arrivals);
  CHECK(run.order_of(EngineEventKind::preempted) == std::vector<std::uint64_t>{0, 2});
  // 17 known tokens need 2 of 3 blocks: one comes back after the other has ended.
  CHECK(run.order_of(EngineEventKind::admitted) == std::vector<std::uint64_t>{1, 2, 0, 2, 0});
  // First come, first served: the last admitted, then the one before.
  options.own.edit<VllmScheduling>().scheduling_policy = "fcfs";
  const test::PolicyRun fcfs = test::run_policy(vllm(options, pool), arrivals);
  CHECK(fcfs.order_of(EngineEventKind::preempted) == std::vector<std::uint64_t>{2, 1});
}

TEST_CASE("an urgent prompt in progress pushes out a decode that was admitted before it") {
  // 10 blocks of 16, B = 40. The first request (30 tokens, 2 blocks) decodes when the urgent one
  // (128 tokens) comes. Steps 2 and 3: 1 decode + 39 tokens each; they hold 2 + 5. Step 4: the
  // first needs its 3rd block, the urgent one 3 for 117 tokens, and 3 are free.
  SchedulerOptions options = seats_and_tokens(8, 40);
  options.own.edit<VllmScheduling>().scheduling_policy = "priority";
  const PagedKvOptions pool = plain_pool(10);
  const std::vector<Arrival> arrivals{arrival(0, 30, 20, 1), arrival(1, 128, 2, 0)};
  const test::PolicyRun run = test::run_policy(vllm(options, pool), arrivals);
  CHECK(run.order_of(EngineEventKind::preempted) == std::vector<std::uint64_t>{0});
  CHECK(run.steps[3].decode_rows == 0);
  CHECK(run.steps[3].chunk_tokens == 40);  // the token of the decode is free again
  // First come, first served: the prompt itself is the last, so it gives way.
  options.own.edit<VllmScheduling>().scheduling_policy = "fcfs";
  const test::PolicyRun fcfs = test::run_policy(vllm(options, pool), arrivals);
  CHECK(fcfs.order_of(EngineEventKind::preempted) == std::vector<std::uint64_t>{1});
}

TEST_CASE("vllm plans can be cut anywhere, with thresholds and priorities") {
  SchedulerOptions options = seats_and_tokens(6, 24);
  const std::string policy = GENERATE("fcfs", "priority");
  options.own.edit<VllmScheduling>().scheduling_policy = policy;
  options.long_prefill_token_threshold = GENERATE(0, 7);
  const int depth = GENERATE(1, 2);
  const bool caching = GENERATE(false, true);
  options.watermark = caching ? 0.1 : 0.0;
  options.own.edit<VllmScheduling>().scheduler_reserve_full_isl =
      options.long_prefill_token_threshold == 0 || caching;
  CAPTURE(policy, options.long_prefill_token_threshold, depth, caching);
  test::check_random_traffic([&] { return vllm(options, test::tight_pool(caching), depth); });
}

}  // namespace
}  // namespace headroom::vllm_test
