// VERIFICATION V1, worked by hand: 8 tokens a step, blocks of 4, a step takes 10 + tokens ms,
// running requests first. R1 arrives at 0 with 10 + 3 tokens, R2 at 5 with 4 + 2.

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "scheduler/routing/round_robin.hpp"
#include "sim/metrics/fan_out.hpp"
#include "sim/metrics/recorder.hpp"
#include "sim/metrics/serving_metrics.hpp"
#include "sim/serving/fleet.hpp"
#include "tests/support/production.hpp"

namespace headroom::worked_example_test {
namespace {

constexpr TimeNs kMs = 1'000'000;

struct Step {
  TimeNs begin_ms = 0;
  TimeNs end_ms = 0;
  std::int64_t decode_rows = 0;
  std::int64_t chunk_rows = 0;
  TokenCount chunk_tokens = 0;
  BlockCount used_blocks = 0;
  bool operator==(const Step&) const = default;
};

class StepList final : public MetricsSink {
 public:
  void on_steps(const StepRun& run) override {
    TickSum begin = run.begin;
    for (StepCount i = 0; i < run.steps; ++i) {
      const TickSum end = begin + run.first_ticks + i * run.slope_ticks;
      steps.push_back({floor_ns(begin) / kMs, floor_ns(end) / kMs, run.shape->decode_rows,
                       run.shape->chunk_rows, run.shape->chunk_tokens,
                       run.state->pool.used_blocks()});
      begin = end;
    }
  }
  void on_request(const RequestRecord&) override {}
  void on_event(const EngineEvent&) override {}
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}

  std::vector<Step> steps;
};

struct WorkedRun {
  std::vector<Step> steps;
  std::vector<RequestRecord> records;
  ServingMetrics metrics;
  BlockCount peak_used_blocks = 0;
  TickSum busy = 0;
};

WorkedRun run_worked_example(bool single_step) {
  oracle::Scenario s;
  s.arrivals = {{0, 10, 3, 3, 0}, {5 * kMs, 4, 2, 2, 0}};
  s.max_num_batched_tokens = 8;
  s.block_size = 4;
  s.cost = {.step = 10 * kMs * kTicksPerNs,
            .decode_row = kMs * kTicksPerNs,
            .chunk_token = kMs * kTicksPerNs};
  std::vector<ReplicaParts> parts;
  parts.push_back(test::make_parts(s, {.single_step = single_step}));
  test::ListSource source(s.arrivals);
  StepList steps;
  Recorder recorder;
  FanOut sinks({&steps, &recorder});
  Fleet fleet({}, std::move(parts), std::make_unique<RoundRobinRouter>(), source, sinks);
  CHECK(fleet.run({}) == StopReason::drained);
  recorder.finish(fleet.totals().end_ns);
  return {.steps = steps.steps,
          .records = {recorder.records().begin(), recorder.records().end()},
          .metrics = serving_metrics(recorder.records(), &recorder.itl(), {}),
          .peak_used_blocks = recorder.replica(0).kv.peak_used_blocks(),
          .busy = recorder.replica(0).cost.busy_ticks()};
}

TEST_CASE("the worked example runs its four steps at the times worked by hand") {
  for (const bool single_step : {false, true}) {
    const WorkedRun run = run_worked_example(single_step);
    // [0,18) R1:8; [18,34) R1:2 + R2:4; [34,46) R1:1 + R2:1; [46,57) R1:1. Blocks: R1 holds 8, 10,
    // 11 and 12 tokens (2, 3, 3, 3 blocks), R2 4 and 5 (1, 2 blocks) and then none.
    CHECK(run.steps == std::vector<Step>{{0, 18, 0, 1, 8, 2},
                                         {18, 34, 0, 2, 6, 4},
                                         {34, 46, 2, 0, 0, 5},
                                         {46, 57, 1, 0, 0, 3}});
    CHECK(run.peak_used_blocks == 5);  // 3 + 2
    CHECK(run.busy == ticks_from_ns(57 * kMs));
  }
}

TEST_CASE("the worked example's requests finish at the times worked by hand") {
  const WorkedRun run = run_worked_example(false);
  REQUIRE(run.records.size() == 2);
  const RequestRecord& r1 = run.records[0];
  CHECK(r1.first_scheduled_ns == 0);
  CHECK(r1.first_token_ns == 34 * kMs);
  CHECK(r1.finish_ns == 57 * kMs);
  const RequestRecord& r2 = run.records[1];
  CHECK(r2.queued_ns == 5 * kMs);
  CHECK(r2.first_scheduled_ns == 18 * kMs);
  CHECK(r2.first_token_ns == 34 * kMs);
  CHECK(r2.finish_ns == 46 * kMs);
}

TEST_CASE("the worked example's metrics are those worked by hand") {
  const ServingMetrics m = run_worked_example(false).metrics;
  CHECK(m.mean_ttft_ms == (34 + 29) / 2.0);
  CHECK(m.mean_e2el_ms == (57 + 41) / 2.0);
  CHECK(m.mean_tpot_ms == ((57 - 34) / 2.0 + (46 - 34)) / 2.0);
  CHECK(m.mean_itl_ms == Approx((12 + 11 + 12) / 3.0).epsilon(1e-15));
  CHECK(m.duration == Approx(.057).epsilon(1e-15));
}

}  // namespace
}  // namespace headroom::worked_example_test
