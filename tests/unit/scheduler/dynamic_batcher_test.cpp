// Preferred sizes of static batches, as Triton's dynamic batcher has them (docs/semantics.md 9).
// A batch of prompts of 10 tokens with one output token each takes 10 us + 10 us a row.

#include <catch2/catch.hpp>
#include <vector>

#include "scheduler/batching/static.hpp"
#include "scheduler/kv/contiguous.hpp"
#include "tests/unit/scheduler/policy_fixture.hpp"

namespace headroom::test::dynamic_batcher_test {
namespace {

PolicyRun run_batches(std::vector<std::int64_t> preferred, TimeNs wait_ns,
                      std::vector<Arrival> arrivals) {
  SchedulerOptions options = seats_and_tokens(8, 1000);
  options.own.edit<StaticScheduling>().batch_wait_ms = static_cast<double>(wait_ns) / 1e6;
  options.own.edit<StaticScheduling>().preferred_batch_size = std::move(preferred);
  PolicySetup setup;
  setup.scheduler = std::make_unique<StaticScheduler>(options);
  setup.kv = std::make_unique<ContiguousKv>(100'000);
  setup.limits.reserves_max_tokens = true;
  setup.options.cancels_running = false;
  setup.options.max_sequences = 8;
  return run_policy(std::move(setup), std::move(arrivals));
}

std::vector<std::int64_t> rows(const PolicyRun& run) {
  std::vector<std::int64_t> rows;
  for (const PolicyStep& step : run.steps) {
    if (step.chunk_rows > 0) rows.push_back(step.chunk_rows);
  }
  return rows;
}

using Rows = std::vector<std::int64_t>;

}  // namespace

// Two of three go at once. The third waits for another one, which comes after 100 us.
TEST_CASE("a batch of a preferred size is sent at once", "[batcher]") {
  const PolicyRun run = run_batches(
      {2, 4}, 500 * kUs,
      {arrival(0, 10, 1), arrival(0, 10, 1), arrival(0, 10, 1), arrival(100 * kUs, 10, 1)});
  CHECK(rows(run) == Rows{2, 2});
  CHECK(run.steps[0].begin_ns == 0);
  CHECK(run.steps[1].begin_ns == 100 * kUs);
}

TEST_CASE("a batch of another size is sent when its oldest request has waited", "[batcher]") {
  const PolicyRun run = run_batches(
      {4}, 500 * kUs, {arrival(0, 10, 1), arrival(0, 10, 1), arrival(200 * kUs, 10, 1)});
  CHECK(rows(run) == Rows{3});
  CHECK(run.steps[0].begin_ns == 500 * kUs);
}

// The first runs alone for 1000 steps of 11 us; meanwhile five others have waited too long.
TEST_CASE("preferred sizes mean nothing once the wait is over", "[batcher]") {
  std::vector<Arrival> arrivals{arrival(0, 10, 1000)};
  for (int i = 0; i < 5; ++i) arrivals.push_back(arrival(kUs, 10, 1));
  CHECK(rows(run_batches({1, 4}, 500 * kUs, arrivals)) == Rows{1, 5});
}

TEST_CASE("without a wait the largest preferred size goes first, then what there is", "[batcher]") {
  const std::vector<Arrival> seven(7, arrival(0, 10, 1));
  CHECK(rows(run_batches({2, 4}, 0, seven)) == Rows{4, 2, 1});
  CHECK(rows(run_batches({}, 0, seven)) == Rows{7});
}

TEST_CASE("preferred sizes do not depend on cuts", "[batcher]") {
  check_cut_invariance(
      [] {
        SchedulerOptions options = seats_and_tokens(8, 1000);
        options.own.edit<StaticScheduling>().batch_wait_ms = 0.04;
        options.own.edit<StaticScheduling>().preferred_batch_size = {3, 5};
        PolicySetup setup;
        setup.scheduler = std::make_unique<StaticScheduler>(options);
        setup.kv = std::make_unique<ContiguousKv>(100'000);
        setup.limits.reserves_max_tokens = true;
        setup.options.cancels_running = false;
        setup.options.max_sequences = 8;
        return setup;
      },
      random_arrivals(7));
}

}  // namespace headroom::test::dynamic_batcher_test
