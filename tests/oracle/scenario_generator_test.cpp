#include "tests/support/scenario_generator.hpp"

#include <catch2/catch.hpp>

#include "tests/oracle/naive_engine.hpp"
#include "tests/support/scenario_shrinker.hpp"

namespace headroom::oracle::scenario_generator_test {
namespace {

constexpr std::uint64_t kSeeds = 1000;

TEST_CASE("oracle: random scenarios are legal and the same for the same seed") {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    const Scenario s = random_scenario(seed);
    REQUIRE(is_legal(s));
    REQUIRE(s.arrivals.size() >= 2);
    REQUIRE(s.arrivals.size() <= 40);
    REQUIRE(to_cpp(s) == to_cpp(random_scenario(seed)));
  }
}

// What must hold of every run of the oracle, whatever the policy.
void check_laws(const Scenario& s, const Result& result) {
  Int128 busy = 0;
  TickSum last_end = 0;
  std::int64_t sampled = 0;
  std::int64_t tokens = 0;
  std::int64_t gaps = 0;
  for (const StepEntry& step : result.timeline) {
    REQUIRE(step.start >= last_end);
    REQUIRE(step.end - step.start == s.cost(step.shape));
    busy += step.end - step.start;
    last_end = step.end;
    sampled += step.shape.sampled_rows;
  }
  for (std::size_t i = 0; i < result.requests.size(); ++i) {
    const RequestResult& r = result.requests[i];
    tokens += r.output_tokens;
    if (r.output_tokens > 0 && !s.responds_at_end) gaps += r.output_tokens - 1;
    if (r.outcome != Outcome::finished) continue;
    REQUIRE(s.arrivals[i].time_ns == r.queued_ns);
    REQUIRE(r.queued_ns <= r.first_scheduled_ns);
    REQUIRE(r.first_scheduled_ns <= r.first_token_ns);
    REQUIRE(r.first_token_ns <= r.finish_ns);
  }
  REQUIRE_FALSE(result.thrashed);
  REQUIRE(busy == result.totals.busy_ticks);
  REQUIRE(sampled == tokens + result.totals.ghost_rows);
  REQUIRE(gaps == result.totals.gaps);
}

TEST_CASE("oracle: random scenarios reach every mechanism") {
  std::int64_t preempted = 0, ghosts = 0, cached = 0, rejected = 0, stuck = 0, chunked = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    const Scenario s = random_scenario(seed);
    const Result result = run_naive(s);
    check_laws(s, result);
    for (const RequestResult& r : result.requests) {
      preempted += r.preemptions;
      rejected += r.outcome == Outcome::rejected ? 1 : 0;
      stuck += r.outcome == Outcome::unfinished ? 1 : 0;
    }
    ghosts += result.totals.ghost_rows;
    cached += result.totals.cached_tokens;
    for (const StepEntry& step : result.timeline) {
      const StepShape& shape = step.shape;
      chunked += shape.decode_rows + shape.chunk_rows > shape.sampled_rows ? 1 : 0;
    }
  }
  INFO("preempted " << preempted << ", ghosts " << ghosts << ", cached " << cached << ", rejected "
                    << rejected << ", stuck " << stuck << ", chunked steps " << chunked);
  CHECK(preempted > 1000);
  CHECK(ghosts > 1000);
  CHECK(cached > 1000);
  CHECK(chunked > 1000);
  CHECK(rejected > 100);
  CHECK(stuck > 10);
}

// (3 + 9 + 27 + 81) codes x 3 memory sizes x 2 arrival patterns x 10 variants.
TEST_CASE("oracle: the tiny scenarios are complete and all of them finish") {
  int count = 0;
  for_each_tiny_scenario([&](const Scenario& s) {
    ++count;
    REQUIRE(is_legal(s));
    const Result result = run_naive(s);
    check_laws(s, result);
    for (const RequestResult& r : result.requests) REQUIRE(r.outcome == Outcome::finished);
  });
  CHECK(count == 120 * 3 * 2 * 10);
}

TEST_CASE("oracle: the shrinker keeps the failure and drops the rest") {
  const auto preempts = [](const Scenario& s) {
    const Result result = run_naive(s);
    for (const RequestResult& r : result.requests) {
      if (r.outcome == Outcome::finished && r.preemptions > 0) return true;
    }
    return false;
  };
  std::uint64_t seed = 0;
  while (random_scenario(seed).arrivals.size() < 10 || !preempts(random_scenario(seed))) ++seed;
  const Scenario small = shrink(random_scenario(seed), preempts);
  INFO(to_cpp(small));
  CHECK(preempts(small));
  // A preempted request that comes back and somebody who pushed it out.
  CHECK(small.arrivals.size() <= 2);
  CHECK(small.cost == AffineCost{});
}

TEST_CASE("oracle: a scenario is printed as an initialiser") {
  const Scenario s{.arrivals = {{0, 3, 4, 4}, {7, 1, 1, 0}},
                   .policy = Policy::orca,
                   .memory = Memory::contiguous,
                   .depth = 2,
                   .max_num_seqs = 3,
                   .kv_tokens = 20,
                   .cost = {.step = 1048577, .chunk_token = 5}};
  CHECK(to_cpp(s) == R"(Scenario{
    .arrivals = {{0, 3, 4, 4}, {7, 1, 1, 0}},
    .policy = Policy::orca,
    .memory = Memory::contiguous,
    .depth = 2,
    .max_num_seqs = 3,
    .kv_tokens = 20,
    .cost = {.step = 1048577, .chunk_token = 5}})");
}

}  // namespace
}  // namespace headroom::oracle::scenario_generator_test
