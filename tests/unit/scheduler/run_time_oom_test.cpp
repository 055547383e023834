// Running out of device memory while the engine runs: the batch is lost, the engine restarts, and
// every request is accounted for.

#include <catch2/catch.hpp>

#include "scheduler/batching/static.hpp"
#include "scheduler/kv/paged.hpp"
#include "scheduler/routing/round_robin.hpp"
#include "sim/metrics/recorder.hpp"
#include "sim/metrics/summary.hpp"
#include "tests/support/production.hpp"

namespace headroom::run_time_oom_test {
namespace {

constexpr TimeNs kMs = 1'000'000;

// A cache that grows token by token and sets nothing aside: 100 tokens, steps of 1 ms.
RunSummary run_growing_cache(std::vector<Arrival> arrivals, std::vector<RequestRecord>& records) {
  ReplicaParts parts;
  SchedulerOptions options;
  options.max_num_seqs = 4;
  parts.options.max_sequences = 4;
  parts.options.restart_ns = 50 * kMs;
  parts.limits.max_model_len = 90;
  parts.limits.max_request_tokens = 100;
  parts.scheduler = std::make_unique<StaticScheduler>(options);
  parts.kv = std::make_unique<PagedKv>(
      PagedKvOptions{.blocks = 100, .block_tokens = 1, .enable_prefix_caching = false});
  parts.cost =
      std::make_unique<test::AffineStepCost>(oracle::AffineCost{.step = kMs * kTicksPerNs});
  std::vector<ReplicaParts> all;
  all.push_back(std::move(parts));
  test::ListSource source(std::move(arrivals));
  Recorder recorder;
  Fleet fleet({}, std::move(all), std::make_unique<RoundRobinRouter>(), source, recorder);
  CHECK(fleet.run({}) == StopReason::drained);
  recorder.finish(fleet.totals().end_ns);
  records.assign(recorder.records().begin(), recorder.records().end());
  return summarise(recorder, {});
}

TEST_CASE(
    "a batch that outgrows the device is lost, and the next one is served after the restart") {
  // Two rows of 20 + 40 tokens: 40 tokens after step 1, 2 more in each step; 100 are held after
  // step
  // 31. Step 32 does not fit, so the engine dies at 31 ms with both rows, 31 tokens each.
  // The third request waits for the restart at 81 ms and takes 1 + 4 steps.
  std::vector<RequestRecord> records;
  const RunSummary summary =
      run_growing_cache({{0, 20, 40, 40, 0}, {0, 20, 40, 40, 0}, {5 * kMs, 20, 5, 5, 0}}, records);
  CHECK(summary.requests.lost_to_oom == 2);
  CHECK(summary.requests.finished == 1);
  CHECK(records[0].outcome == Outcome::lost_to_oom);
  CHECK(records[0].output_tokens == 31);
  CHECK(records[0].finish_ns == 31 * kMs);
  CHECK(records[2].first_scheduled_ns == 81 * kMs);
  CHECK(records[2].finish_ns == 86 * kMs);
  REQUIRE(summary.ooms.size() == 1);
  CHECK(summary.ooms[0].kind == OomKind::runtime_device);
  CHECK(summary.ooms[0].time_ns == 31 * kMs);
}

TEST_CASE("a row that had all its tokens when the engine died counts as finished") {
  // The first row streams its only 3 tokens and stays as a ghost; the others bring the engine down.
  std::vector<RequestRecord> records;
  const RunSummary summary =
      run_growing_cache({{0, 20, 3, 40, 0}, {0, 20, 40, 40, 0}, {0, 20, 40, 40, 0}}, records);
  CHECK(summary.requests.finished == 1);
  CHECK(summary.requests.lost_to_oom == 2);
  CHECK(records[0].finish_ns == 3 * kMs);
}

}  // namespace
}  // namespace headroom::run_time_oom_test
