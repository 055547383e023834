// An API server before the engine: what it must not change, and what it bounds.

#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "scheduler/routing/round_robin.hpp"
#include "sim/metrics/recorder.hpp"
#include "sim/metrics/run_digest.hpp"
#include "tests/laws/law_support.hpp"
#include "tests/laws/scenario_runs.hpp"
#include "tests/support/production.hpp"
#include "tests/support/scenario_generator.hpp"
#include "workloads/traffic_source.hpp"

namespace headroom::laws::api_server_law_test {
namespace {

std::string digest_of(const oracle::Scenario& scenario) {
  test::ListSource source(scenario.arrivals);
  Recorder recorder;
  const TimeNs end_ns =
      run_engines({scenario}, production, std::make_unique<RoundRobinRouter>(), source, recorder);
  recorder.finish(end_ns);
  return run_digest(recorder);
}

Verdict free_server_changes_nothing(oracle::Scenario scenario, std::uint64_t seed, Ticks token) {
  if (scenario.policy == oracle::Policy::static_batch) return Verdict::does_not_apply;
  if (seed % 3 == 0) scenario = oracle::with_deadlines(std::move(scenario), seed);
  const std::string without = digest_of(scenario);
  scenario.api_server.processes = 1 + static_cast<std::int64_t>(seed % 4);
  scenario.api_server.output_token_ticks = token;
  return verdict(digest_of(scenario) == without);
}

TEST_CASE("a server that takes no time changes no byte of the results") {
  CHECK(holds_for_all([](const oracle::Scenario& s, std::uint64_t seed) {
    return free_server_changes_nothing(s, seed, 0);
  }));
  CHECK_FALSE(holds_for_all(
      [](const oracle::Scenario& s, std::uint64_t seed) {
        return free_server_changes_nothing(s, seed, 4 * kTicksPerNs);
      },
      20));
}

// 64 users without think time, 200 tokens each; steps of 0.1 ms + 1 us per row.
std::vector<RequestRecord> saturated_loop(std::int64_t processes, Ticks token_ticks) {
  TrafficOptions traffic;
  traffic.closed_loop = ClosedLoopOptions{.users = 64};
  traffic.num_requests = 1280;
  traffic.classes.resize(1);
  traffic.classes[0].output = fixed(200);
  TrafficSource source(traffic, 1);
  oracle::Scenario scenario;
  scenario.max_num_seqs = 256;
  scenario.max_num_batched_tokens = 1024;
  scenario.max_model_len = 1024;
  scenario.kv_blocks = 1 << 16;
  scenario.cost = {.step = kMs / 10, .decode_row = kMs / 1000, .chunk_row = kMs / 1000};
  scenario.api_server.processes = processes;
  scenario.api_server.output_token_ticks = token_ticks;
  Recorder recorder;
  const TimeNs end_ns =
      run_engines({scenario}, production, std::make_unique<RoundRobinRouter>(), source, recorder);
  recorder.finish(end_ns);
  return {recorder.records().begin(), recorder.records().end()};
}

// All 64 answers are complete at once, 20 times. In between the server has work without a pause:
// 1280 x 200 tokens x 50 us / processes in all. Beside that each of the 20 rounds takes its first
// step, 100 + 64 us, and the part of a token's time that no other process can take off its own,
// 50 us x (1 - 1 / processes). The engine alone would take 20 x 200 steps of 164 us: 0.656 s.
TEST_CASE("a saturated server writes as many tokens as its processes can") {
  for (const std::int64_t processes : {1, 2, 4}) {
    const std::vector<RequestRecord> records = saturated_loop(processes, kMs / 20);
    REQUIRE(records.size() == 1280);
    TimeNs last_ns = 0;
    for (const RequestRecord& record : records) last_ns = std::max(last_ns, record.finish_ns);
    const TimeNs work_ns = TimeNs{1280} * 200 * 50'000 / processes;
    CAPTURE(processes);
    CHECK(last_ns == work_ns + 20 * (164'000 + 50'000 - 50'000 / processes));
  }
  TimeNs last_ns = 0;
  for (const RequestRecord& record : saturated_loop(1, 0)) {
    last_ns = std::max(last_ns, record.finish_ns);
  }
  CHECK(last_ns == 656'000'000);
}

}  // namespace
}  // namespace headroom::laws::api_server_law_test
