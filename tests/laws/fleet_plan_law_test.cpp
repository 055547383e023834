// Plans of fleets against brute force: every size of every candidate simulated many times, with
// seeds that the plan does not use.

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/resolve/run.hpp"
#include "sim/study/plan/fleet_planner.hpp"

namespace headroom::laws::fleet_plan_law_test {
namespace {

using headroom::Verdict;  // a plan's, not a law's

constexpr std::int64_t kLargestFleet = 10;
constexpr std::int64_t kBruteRuns = 24;

FleetPlanFile problem(const std::string& more) {
  const std::string text = R"({"models": ["llama-3.1-8b"], "replications": 3,
    "engines": [{"name": "vllm", "version": "0.19", "max_model_len": 8192}], )" +
                           more + "}";
  return parse_fleet_plan(parse_json(text, "law.json"), "", "");
}

FleetPlanResult planned(const FleetPlanFile& plan) {
  return plan_fleets(plan, Catalog::embedded(), {});
}

// Of a fleet over kBruteRuns: certainly enough, certainly not, or neither.
Verdict brute_verdict(const FleetPlanFile& plan, const PlanCandidate& candidate,
                      std::int64_t replicas) {
  constexpr std::int64_t kOtherSeeds = 1000;
  std::vector<std::vector<double>> values(plan.targets.size());
  for (std::int64_t i = 0; i < kBruteRuns; ++i) {
    const PlanCase one{
        .scale = plan.scale, .replicas = replicas, .replication = kOtherSeeds + i, .span_s = 0};
    const RunResult result = run(case_scenario(plan, candidate, one), Catalog::embedded());
    if (result.summary.requests.finished != result.summary.requests.arrived) return Verdict::fails;
    for (std::size_t target = 0; target < values.size(); ++target) {
      values[target].push_back(plan_metric(result.summary.metrics, plan.targets[target].metric));
    }
  }
  Verdict all = Verdict::passes;
  for (std::size_t target = 0; target < values.size(); ++target) {
    const Verdict one = judge_target(values[target], plan.targets[target].limit_ms).verdict;
    if (one == Verdict::fails) return one;
    if (one == Verdict::open) all = one;
  }
  return all;
}

// Where brute force contradicts a plan of at most kLargestFleet replicas; empty: nowhere. What a
// plan is not certain of it counts as missed, so it may take one replica more than is enough.
std::string contradiction(const FleetPlanFile& plan, const FleetPlanResult& result) {
  for (const PlannedFleet& fleet : result.fleets) {
    const std::int64_t needed = fleet.fate == PlanFate::met ? fleet.needed : kLargestFleet + 1;
    for (std::int64_t replicas = 1; replicas <= kLargestFleet; ++replicas) {
      const Verdict brute = brute_verdict(plan, fleet.candidate, replicas);
      const std::string size =
          candidate_name(plan, fleet.candidate) + ": " + std::to_string(replicas);
      if (brute == Verdict::passes && replicas + 1 < needed) return size + " are enough";
      if (brute == Verdict::fails && replicas >= needed) return size + " are not enough";
    }
  }
  return "";
}

// p95 of 1.3 requests/s for each replica: noisy between runs.
const std::string kShortPrompts = R"("traffic": {"scenario": {"workload": {
    "arrivals": {"request_rate": 8}, "num_requests": 400,
    "prompt": {"law": "lognormal", "median": 600, "sigma": 0.7, "max": 4000},
    "output": {"law": "lognormal", "median": 60, "sigma": 0.7, "max": 600},
    "max_tokens": {"rule": "value", "value": 600}}}})";
const std::string kTwoDevices = R"(, "instances": [
    {"device": "l40s", "gpus": 2, "price_per_hour": 2},
    {"device": "h100-sxm", "price_per_hour": 3}], "tensor_parallel_size": [1, 2])";

// The plan that was found wanting: 12 requests/s, of which a replica alone sees 125 requests.
FleetPlanFile long_prompts(std::int64_t max_replicas, std::int64_t seed) {
  FleetPlanFile plan = problem(R"("traffic": {"scenario": {"workload": {
      "arrivals": {"request_rate": 12}, "num_requests": 2000,
      "prompt": {"law": "lognormal", "median": 1200, "sigma": 0.7, "max": 4000},
      "output": {"law": "lognormal", "median": 60, "sigma": 0.7, "max": 600},
      "max_tokens": {"rule": "value", "value": 600}}}},
    "slo": {"p95_e2el_ms": 3000, "p99_ttft_ms": 800},
    "instances": [{"device": "l40s", "gpus": 2, "price_per_hour": 1}],
    "tensor_parallel_size": [1, 2])");
  plan.max_replicas = max_replicas;
  plan.seed = seed;
  return plan;
}

}  // namespace

TEST_CASE("law: brute force over all sizes finds no smaller fleet, and none that is too small") {
  const std::vector<std::string> limits{
      R"("slo": {"p95_e2el_ms": 3500, "p99_ttft_ms": 400})", R"("slo": {"p99_tpot_ms": 30})",
      R"("slo": {"mean_ttft_ms": 90, "median_e2el_ms": 1500})", R"("slo": {"p90_e2el_ms": 1500})"};
  for (const std::string& slo : limits) {
    FleetPlanFile plan = problem(kShortPrompts + ", " + slo + kTwoDevices);
    plan.max_replicas = kLargestFleet;
    CAPTURE(slo);
    CHECK(contradiction(plan, planned(plan)) == "");
  }
}

TEST_CASE("law: brute force contradicts the plan of other traffic") {
  FleetPlanFile plan = problem(kShortPrompts + R"(, "slo": {"p99_tpot_ms": 30})" + kTwoDevices);
  plan.max_replicas = kLargestFleet;
  FleetPlanFile half = plan;
  half.scale = 0.25;
  CHECK(contradiction(plan, planned(half)).ends_with(" are not enough"));
}

TEST_CASE("law: neither a limit that does not bind nor the seed changes the fleet of a plan") {
  std::optional<std::int64_t> needed;
  for (const std::int64_t max_replicas : {8, 16, 64, 256}) {
    for (const std::int64_t seed : {1, 2, 3, 4, 5}) {
      CAPTURE(max_replicas, seed);
      const FleetPlanResult result = planned(long_prompts(max_replicas, seed));
      REQUIRE(result.chosen);
      const PlannedFleet& fleet = result.fleets[*result.chosen];
      if (!needed) needed = fleet.needed;
      CHECK(fleet.needed == needed);
      CHECK(fleet.candidate.tensor_parallel == 2);
    }
  }
}

}  // namespace headroom::laws::fleet_plan_law_test
