// Sarathi-Serve (ENGINES.md 3.8). Steps cost 10 us + 1 us per prompt token + 1 us per decoding row.

#include "scheduler/batching/sarathi.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/scheduler/policy_fixture.hpp"

namespace headroom::sarathi_test {
namespace {

using test::arrival;
using test::kUs;
using test::plain_pool;
using test::seats_and_tokens;

test::PolicySetup sarathi(const SchedulerOptions& options, const PagedKvOptions& pool,
                          int depth = 1) {
  return test::paged_setup<SarathiScheduler>(options, pool, depth);
}

TEST_CASE("decodes come first, then the prompt in progress, then new ones up to the budget") {
  // tau = 64, prompts of 20, 100 and 30. Step 1: 20 + 44 of the second (74 us). Step 2: 1 decode,
  // 56 + 7 of the third (74 us). Step 3: 2 decodes + 23 (35 us).
  const SchedulerOptions options = seats_and_tokens(8, 64);
  const test::PolicyRun run =
      test::run_policy(sarathi(options, plain_pool(1000)),
                       {arrival(0, 20, 9), arrival(0, 100, 9), arrival(0, 30, 9)});
  CHECK(run.steps[0].chunk_tokens == 64);
  CHECK(run.steps[1].decode_rows == 1);
  CHECK(run.steps[1].chunk_rows == 2);
  CHECK(run.steps[1].chunk_tokens == 63);
  CHECK(run.steps[2].decode_rows == 2);
  CHECK(run.steps[2].chunk_tokens == 23);
  CHECK(run.requests[1].first_token_ns == (74 + 74) * kUs);
  CHECK(run.requests[2].first_token_ns == (74 + 74 + 35) * kUs);
}

TEST_CASE("room for a whole prompt is held from its first chunk on") {
  // 9 blocks of 16. A prompt of 16 takes 1, and 8 are set aside for one of 128 of which 4 tokens
  // run in step 1. The first decode of the other finds no block that is not set aside: the prompt
  // in progress is the last, and gives way. It comes back when the other has ended.
  const SchedulerOptions options = seats_and_tokens(8, 20);
  const test::PolicyRun run =
      test::run_policy(sarathi(options, plain_pool(9)), {arrival(0, 16, 9), arrival(0, 128, 2)});
  CHECK(run.steps[0].chunk_tokens == 20);
  CHECK(run.order_of(EngineEventKind::preempted) == std::vector<std::uint64_t>{1});
  CHECK(run.steps[1].used_blocks == 2);
  CHECK(run.steps[1].chunk_rows == 0);
  const auto admissions = run.order_of(EngineEventKind::admitted);
  CHECK(admissions == std::vector<std::uint64_t>{0, 1, 1});
  CHECK(run.requests[1].first_token_ns > run.requests[0].finish_ns);
}

TEST_CASE("an admission leaves the watermark free") {
  // 100 blocks of 16, watermark 1: beside 40 blocks one of 59 fits, one of 60 waits.
  SchedulerOptions options = seats_and_tokens(8, 2048);
  options.watermark = 0.01;
  const auto scheduled = [&](std::int32_t blocks) {
    return test::run_policy(sarathi(options, plain_pool(100)),
                            {arrival(0, 40 * 16, 2), arrival(0, blocks * 16, 2)})
        .requests[1]
        .first_scheduled_ns;
  };
  CHECK(scheduled(59) == 0);
  CHECK(scheduled(60) > 0);
}

TEST_CASE("Sarathi plans can be cut anywhere") {
  const int depth = GENERATE(1, 2);
  const bool caching = GENERATE(false, true);
  SchedulerOptions options = seats_and_tokens(6, 24);
  options.watermark = 0.05;
  CAPTURE(depth, caching);
  test::check_random_traffic([&] { return sarathi(options, test::tight_pool(caching), depth); });
}

}  // namespace
}  // namespace headroom::sarathi_test
