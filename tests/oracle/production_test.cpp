// VERIFICATION V2(c) and V7b: production equals the naive engine in every request, to the
// nanosecond, and in every total, whether it jumps, steps one by one, or has its jumps cut at
// random.

#include <catch2/catch.hpp>
#include <utility>

#include "sim/kernel/check.hpp"
#include "tests/oracle/naive_engine.hpp"
#include "tests/support/production.hpp"
#include "tests/support/repetitions.hpp"
#include "tests/support/scenario_generator.hpp"
#include "tests/support/scenario_shrinker.hpp"

namespace headroom::production_test {
namespace {

// The peak inside a plan and the padding are not counted by the production code in this form.
oracle::Totals comparable(oracle::Totals totals) {
  totals.peak_used_blocks = 0;
  totals.peak_used_tokens = 0;
  totals.padding_tokens = 0;
  return totals;
}

bool same(const oracle::Result& a, const oracle::Result& b) {
  return a.requests == b.requests && comparable(a.totals) == comparable(b.totals);
}

enum class Way { jumps, single_steps, random_cuts };

bool differs(const oracle::Scenario& scenario, Way way) {
  test::ProductionOptions options;
  options.single_step = way == Way::single_steps;
  options.cut_seed = way == Way::random_cuts ? 1 + scenario.arrivals.size() : 0;
  try {
    return !same(test::run_production(scenario, options), oracle::run_naive(scenario));
  } catch (const InternalError&) {
    return true;
  }
}

void require_equal(const oracle::Scenario& scenario, Way way, const std::string& name) {
  if (!differs(scenario, way)) return;
  const auto fails = [way](const oracle::Scenario& s) { return differs(s, way); };
  FAIL(name << ", way " << static_cast<int>(way) << ", shrunk:\n"
            << oracle::to_cpp(oracle::shrink(scenario, fails)));
}

// In every third one clients give up.
oracle::Scenario scenario_of(std::uint64_t seed) {
  oracle::Scenario scenario = oracle::random_scenario(seed);
  return seed % 3 == 0 ? oracle::with_deadlines(std::move(scenario), seed) : scenario;
}

void require_equal_on_all_seeds(Way way) {
  for (std::uint64_t seed = 1; seed <= test::repetitions(6000); ++seed) {
    require_equal(scenario_of(seed), way, "seed " + std::to_string(seed));
  }
}

TEST_CASE("jumps equal the naive engine on random scenarios") {
  require_equal_on_all_seeds(Way::jumps);
}

TEST_CASE("single steps equal the naive engine on random scenarios") {
  require_equal_on_all_seeds(Way::single_steps);
}

TEST_CASE("randomly cut jumps equal the naive engine on random scenarios") {
  require_equal_on_all_seeds(Way::random_cuts);
}

// Every third with clients that give up; `prefixes`: with prompts that begin alike; `adapters`:
// with LoRA.
void require_equal_in_all_ways(oracle::Policy policy, bool prefixes = false,
                               bool adapters = false) {
  for (std::uint64_t seed = 1; seed <= test::repetitions(300); ++seed) {
    oracle::Scenario scenario = oracle::random_scenario(policy, seed);
    if (prefixes) scenario = oracle::with_prefixes(std::move(scenario), seed);
    if (adapters) scenario = oracle::with_adapters(std::move(scenario), seed);
    if (seed % 3 == 0) scenario = oracle::with_deadlines(std::move(scenario), seed);
    for (const Way way : {Way::jumps, Way::single_steps, Way::random_cuts}) {
      require_equal(scenario, way, "seed " + std::to_string(seed));
    }
  }
}

TEST_CASE("vllm with thresholds and priorities equals the naive engine") {
  require_equal_in_all_ways(oracle::Policy::vllm);
}

TEST_CASE("vllm with shared prefixes equals the naive engine") {
  require_equal_in_all_ways(oracle::Policy::vllm, true);
}

TEST_CASE("vllm with LoRA adapters equals the naive engine") {
  require_equal_in_all_ways(oracle::Policy::vllm, GENERATE(false, true), true);
}

TEST_CASE("the random scenarios with adapters load them, and let some wait for others") {
  oracle::Totals sum;
  std::int64_t changed = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    oracle::Scenario scenario = oracle::random_scenario(oracle::Policy::vllm, seed);
    scenario = oracle::with_adapters(std::move(scenario), seed);
    REQUIRE(oracle::is_legal(scenario));
    scenario.adapter_load = scenario.adapter_read = 0;
    const oracle::Result result = oracle::run_naive(scenario);
    sum.adapter_loads += result.totals.adapter_loads;
    sum.adapter_reads += result.totals.adapter_reads;
    scenario.max_loras = scenario.max_cpu_loras = 6;
    changed += same(oracle::run_naive(scenario), result) ? 0 : 1;
  }
  CHECK(sum.adapter_loads > 300);
  CHECK(sum.adapter_reads > 100);
  CHECK(changed > 100);
}

TEST_CASE("vllm V0 equals the naive engine") {
  require_equal_in_all_ways(oracle::Policy::vllm_v0, GENERATE(false, true));
}

TEST_CASE("sarathi equals the naive engine") {
  require_equal_in_all_ways(oracle::Policy::sarathi, GENERATE(false, true));
}

TEST_CASE("tgi equals the naive engine") { require_equal_in_all_ways(oracle::Policy::tgi); }

TEST_CASE("trtllm equals the naive engine") { require_equal_in_all_ways(oracle::Policy::trtllm); }

TEST_CASE("pipeline stages equal the naive engine that moves micro-batches stage by stage") {
  for (const oracle::Policy policy :
       {oracle::Policy::vllm, oracle::Policy::trtllm, oracle::Policy::orca}) {
    for (std::uint64_t seed = 1; seed <= test::repetitions(600); ++seed) {
      oracle::Scenario scenario = oracle::random_scenario(policy, seed);
      scenario = oracle::with_stages(std::move(scenario), seed);
      if (policy == oracle::Policy::vllm && seed % 2 == 0) {
        scenario = oracle::with_prefixes(std::move(scenario), seed);
      }
      if (seed % 3 == 0) scenario = oracle::with_deadlines(std::move(scenario), seed);
      if (seed % 5 == 0) scenario = oracle::with_api_server(std::move(scenario), seed);
      for (const Way way : {Way::jumps, Way::single_steps, Way::random_cuts}) {
        require_equal(scenario, way, "seed " + std::to_string(seed));
      }
    }
  }
}

TEST_CASE("the random scenarios with stages fill them, and preempt requests in flight") {
  StepCount overlap = 0;
  std::int64_t preemptions = 0;
  std::int64_t ghosts = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    oracle::Scenario scenario = oracle::random_scenario(oracle::Policy::vllm, seed);
    scenario = oracle::with_stages(std::move(scenario), seed);
    scenario = oracle::with_deadlines(std::move(scenario), seed);
    REQUIRE(oracle::is_legal(scenario));
    const oracle::Result result = oracle::run_naive(scenario);
    for (const oracle::StepEntry& step : result.timeline) {
      overlap += ticks_from_ns(step.planned_ns + 1) <= step.start ? 1 : 0;
    }
    for (const oracle::RequestResult& request : result.requests) preemptions += request.preemptions;
    ghosts += result.totals.ghost_rows;
  }
  CHECK(overlap > 1000);
  CHECK(preemptions > 100);
  CHECK(ghosts > 100);
}

TEST_CASE("an API server before the engine equals the naive one") {
  for (const oracle::Policy policy :
       {oracle::Policy::vllm, oracle::Policy::vllm_v0, oracle::Policy::sarathi,
        oracle::Policy::trtllm, oracle::Policy::sglang, oracle::Policy::tgi}) {
    for (std::uint64_t seed = 1; seed <= test::repetitions(300); ++seed) {
      oracle::Scenario scenario = oracle::random_scenario(policy, seed);
      if (seed % 3 == 0) scenario = oracle::with_deadlines(std::move(scenario), seed);
      scenario = oracle::with_api_server(std::move(scenario), seed);
      for (const Way way : {Way::jumps, Way::single_steps, Way::random_cuts}) {
        require_equal(scenario, way, "seed " + std::to_string(seed));
      }
    }
  }
}

TEST_CASE("sglang equals the naive engine") { require_equal_in_all_ways(oracle::Policy::sglang); }

TEST_CASE("llama.cpp equals the naive engine") {
  require_equal_in_all_ways(oracle::Policy::llamacpp);
}

TEST_CASE("random scenarios of llama.cpp outgrow shared cells, and most of them do not") {
  std::int64_t lost = 0;
  std::int64_t finished = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const oracle::Scenario scenario = oracle::random_scenario(oracle::Policy::llamacpp, seed);
    for (const oracle::RequestResult& r : oracle::run_naive(scenario).requests) {
      lost += r.outcome == Outcome::lost_to_oom ? 1 : 0;
      finished += r.outcome == Outcome::finished ? 1 : 0;
    }
  }
  CHECK(lost > 100);
  CHECK(finished > 3 * lost);
}

TEST_CASE("the scenarios of every policy are legal, and those of pausing ones pause somebody") {
  const auto interruptions = [](oracle::Policy policy) {
    std::int64_t sum = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      const oracle::Scenario scenario = oracle::random_scenario(policy, seed);
      REQUIRE(oracle::is_legal(scenario));
      for (const oracle::RequestResult& r : oracle::run_naive(scenario).requests) {
        sum += r.preemptions;
      }
    }
    return sum;
  };
  CHECK(interruptions(oracle::Policy::vllm) > 300);
  CHECK(interruptions(oracle::Policy::vllm_v0) > 200);
  CHECK(interruptions(oracle::Policy::sarathi) > 200);
  CHECK(interruptions(oracle::Policy::trtllm) > 150);
  CHECK(interruptions(oracle::Policy::sglang) > 20);
  CHECK(interruptions(oracle::Policy::tgi) == 0);
  CHECK(interruptions(oracle::Policy::llamacpp) == 0);
}

TEST_CASE("jumps equal the naive engine on every tiny scenario") {
  std::uint64_t count = 0;
  oracle::for_each_tiny_scenario([&count](const oracle::Scenario& scenario) {
    require_equal(scenario, Way::jumps, "tiny scenario " + std::to_string(count++));
  });
  CHECK(count > 5000);
}

TEST_CASE("the random scenarios reach preemption, own-prefix hits, ghost rows and every outcome") {
  oracle::Totals sum;
  std::int64_t preemptions = 0;
  std::int64_t rejected = 0;
  std::int64_t cancelled_waiting = 0;
  std::int64_t cancelled_running = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const oracle::Result result = oracle::run_naive(scenario_of(seed));
    sum.ghost_rows += result.totals.ghost_rows;
    sum.cached_tokens += result.totals.cached_tokens;
    for (const oracle::RequestResult& request : result.requests) {
      preemptions += request.preemptions;
      rejected += request.outcome == Outcome::rejected ? 1 : 0;
      if (request.outcome != Outcome::cancelled) continue;
      ++(request.first_scheduled_ns < 0 ? cancelled_waiting : cancelled_running);
    }
  }
  CHECK(preemptions > 1000);
  CHECK(rejected > 100);
  CHECK(cancelled_waiting > 500);
  CHECK(cancelled_running > 500);
  CHECK(sum.ghost_rows > 1000);
  CHECK(sum.cached_tokens > 1000);
}

TEST_CASE("the comparison notices a cost that is one tick off") {
  oracle::Scenario scenario = oracle::random_scenario(7);
  const oracle::Result naive = oracle::run_naive(scenario);
  scenario.cost.step += 1;
  CHECK_FALSE(same(test::run_production(scenario), naive));
}

TEST_CASE("a client that goes during a step is gone at its end, and its blocks are free") {
  // 1000 ns a step, one seat: the first client goes at 2500, during step 3. It leaves at 3000 with
  // three tokens, and the second request, whose client goes at 3999, starts there: its token
  // would have come at 4000.
  oracle::Scenario scenario;
  scenario.arrivals = {{0, 4, 10, 10}, {0, 4, 10, 10}};
  scenario.arrivals[0].deadline_ns = 2500;
  scenario.arrivals[1].first_token_deadline_ns = 3999;
  scenario.max_num_seqs = 1;
  scenario.kv_blocks = 5;
  scenario.cost.step = 1000 * kTicksPerNs;
  const oracle::Result result = test::run_production(scenario);
  CHECK(result.requests[0].outcome == Outcome::cancelled);
  CHECK(result.requests[0].finish_ns == 3000);
  CHECK(result.requests[0].output_tokens == 3);
  CHECK(result.requests[1].first_scheduled_ns == 3000);
  CHECK(result.requests[1].outcome == Outcome::cancelled);
  CHECK(result.requests[1].finish_ns == 4000);
  CHECK(result.requests[1].output_tokens == 1);  // it came too late
}

TEST_CASE("a token that comes in the nanosecond of its deadline is in time") {
  oracle::Scenario scenario;
  scenario.arrivals = {{0, 4, 2, 2}, {0, 4, 1, 1}};
  scenario.arrivals[0].first_token_deadline_ns = 1000;
  scenario.arrivals[0].deadline_ns = 2000;
  scenario.arrivals[1].deadline_ns = 999;
  scenario.cost.step = 1000 * kTicksPerNs;
  const oracle::Result result = test::run_production(scenario);
  CHECK(result.requests[0].outcome == Outcome::finished);
  CHECK(result.requests[1].outcome == Outcome::cancelled);
}

TEST_CASE("an arrival in the nanosecond of a step end takes part in the plan of that end") {
  // Depth 2, 1000 ns + 0.5 ns a step: step 1 [0, 1000.5), step 2 [1000.5, 2001). The second request
  // arrives at 1000 = floor(1000.5): step 3, planned at that end, has its prompt and ends at
  // 3001.5.
  oracle::Scenario scenario;
  scenario.arrivals = {{0, 1, 10, 20, 0}, {1000, 1, 1, 20, 0}};
  scenario.depth = 2;
  scenario.cost.step = 1000 * kTicksPerNs + kTicksPerNs / 2;
  const oracle::Result result = test::run_production(scenario);
  CHECK(result.requests[1].first_scheduled_ns == 1000);
  CHECK(result.requests[1].first_token_ns == 3001);
}

}  // namespace
}  // namespace headroom::production_test
