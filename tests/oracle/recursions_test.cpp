// VERIFICATION V2(a) and (b): one slot is Lindley's recursion, k slots with constant steps are k
// servers.

#include <catch2/catch.hpp>
#include <random>

#include "tests/oracle/exact_recursions.hpp"
#include "tests/support/production.hpp"

namespace headroom::recursions_test {
namespace {

oracle::Scenario slots(std::int64_t count) {
  oracle::Scenario scenario;
  scenario.max_num_seqs = count;
  scenario.max_num_batched_tokens = 4096;
  scenario.max_model_len = 4096;
  scenario.block_size = 16;
  scenario.kv_blocks = 10'000;
  return scenario;
}

TEST_CASE("one slot waits as Lindley's recursion says") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    oracle::Scenario scenario = slots(1);
    scenario.cost = {.step = 5'000 * kTicksPerNs, .chunk_token = 37 * kTicksPerNs};
    std::vector<oracle::Job> jobs;
    TimeNs now = 0;
    for (int i = 0; i < 60; ++i) {
      now += random() % 60'000;
      const auto prompt = static_cast<std::int32_t>(1 + random() % 200);
      const auto output = static_cast<std::int32_t>(1 + random() % 10);
      scenario.arrivals.push_back(
          {now, prompt, output, output + static_cast<std::int32_t>(random() % 3), 0});
      // One prefill step, then output - 1 decode steps.
      jobs.push_back({now, 5'000 * output + 37 * prompt});
    }
    const oracle::Result result = test::run_production(scenario);
    const std::vector<TimeNs> waits = oracle::lindley_waits(jobs);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      REQUIRE(result.requests[i].first_scheduled_ns == jobs[i].arrival_ns + waits[i]);
      REQUIRE(result.requests[i].finish_ns == jobs[i].arrival_ns + waits[i] + jobs[i].service_ns);
    }
  }
}

TEST_CASE("k slots with constant steps end as k servers do") {
  // Arrivals on the grid of the steps, so that a free slot is taken at once as a free server is.
  constexpr TimeNs kStep = 1'000;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const std::int64_t servers = 1 + static_cast<std::int64_t>(random() % 6);
    oracle::Scenario scenario = slots(servers);
    scenario.cost = {.step = kStep * kTicksPerNs};
    std::vector<oracle::Job> jobs;
    TimeNs now = 0;
    for (int i = 0; i < 80; ++i) {
      now += kStep * static_cast<TimeNs>(random() % 6);
      const auto output = static_cast<std::int32_t>(1 + random() % 20);
      scenario.arrivals.push_back({now, 1, output, output, 0});
      jobs.push_back({now, kStep * output});
    }
    const oracle::Result result = test::run_production(scenario);
    const std::vector<TimeNs> ends =
        oracle::earliest_free_ends(jobs, static_cast<std::size_t>(servers));
    for (std::size_t i = 0; i < jobs.size(); ++i) REQUIRE(result.requests[i].finish_ns == ends[i]);
  }
}

}  // namespace
}  // namespace headroom::recursions_test
