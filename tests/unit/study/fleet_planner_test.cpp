// Fleets that `headroom fleet plan` finds, by simulation.

#include "sim/study/plan/fleet_planner.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "sim/report/json/fleet_figures.hpp"
#include "sim/report/json/plan_json.hpp"
#include "sim/report/text/plan_report.hpp"
#include "sim/report/text/terminal.hpp"
#include "sim/study/plan/fleet_sizer.hpp"

namespace headroom::fleet_planner_test {

namespace {

FleetPlanFile chat_plan(const std::string& more) {
  const std::string text = R"({
    "traffic": {"scenario": {"workload": {
        "arrivals": {"request_rate": 4}, "duration_s": 60,
        "prompt": {"law": "lognormal", "median": 500, "sigma": 0.7, "max": 4000},
        "output": {"law": "lognormal", "median": 120, "sigma": 0.7, "max": 1000},
        "max_tokens": {"rule": "value", "value": 1000}}}, "scale": 5},
    "engines": [{"name": "vllm", "version": "0.19", "max_model_len": 8192}],
    "replications": 2, )" + more +
                           "}";
  return parse_fleet_plan(parse_json(text, "p.json"), "", "");
}

const std::string kOneModel = R"("slo": {"p99_ttft_ms": 600, "p99_tpot_ms": 60},
    "models": ["llama-3.1-8b"],
    "instances": [{"device": "l40s", "gpus": 2, "price_per_hour": 2}],
    "tensor_parallel_size": [1])";

FleetPlanResult planned(const FleetPlanFile& plan, std::size_t threads = 1) {
  PlannerOptions options;
  options.threads = threads;
  return plan_fleets(plan, Catalog::embedded(), options);
}

const PlannedFleet& only_fleet(const FleetPlanResult& result) {
  REQUIRE(result.fleets.size() == 1);
  return result.fleets.front();
}

}  // namespace

TEST_CASE("a fleet is as small as its targets allow") {
  const FleetPlanFile plan = chat_plan(kOneModel);
  const FleetPlanResult result = planned(plan);
  const PlannedFleet& fleet = only_fleet(result);
  REQUIRE(fleet.fate == PlanFate::met);
  CHECK(fleet.replicas == fleet.needed);
  CHECK(chosen_scenario(plan, result)["slo"] ==
        Json({{"p99_ttft_ms", 600.0}, {"p99_tpot_ms", 60.0}}));
  CHECK(fleet.needed >= fleet.bounds.least_replicas);
  const Catalog catalog = Catalog::embedded();
  FleetSizer sizer(plan, fleet.candidate, result.traffic[0], catalog, nullptr);
  CHECK(sizer.judge(fleet.needed, {}).kept());
  CHECK_FALSE(sizer.judge(fleet.needed - 1, {}).kept());
  // Two devices an instance.
  CHECK(fleet.instances == (fleet.needed + 1) / 2);
  CHECK(fleet.dollars_per_hour == 2.0 * static_cast<double>(fleet.instances));
  const PlanTraffic& traffic = result.traffic[0];
  const double tokens = fleet.whole.output_tokens_per_s / fleet.whole.requests_per_s;
  CHECK(tokens == Approx(traffic.mean_output).epsilon(0.05));
  CHECK(fleet.dollars_per_million_tokens ==
        Approx(fleet.dollars_per_hour / (traffic.rate() * tokens * 3600) * 1e6));
  CHECK(fleet.dollars_per_thousand_requests ==
        Approx(fleet.dollars_per_hour / (traffic.rate() * 3600) * 1e3));
  CHECK(fleet.joules_per_token == Approx(*fleet.whole.mean_w / fleet.whole.output_tokens_per_s));
}

TEST_CASE("a fleet without a target on waiting keeps up with its traffic all the same") {
  // One L40S takes 20 requests/s only into a queue that grows, at a steady time per token.
  FleetPlanFile plan = chat_plan(kOneModel);
  plan.targets = {{"p99_tpot_ms", 500}};
  const FleetPlanResult result = planned(plan);
  const PlannedFleet& fleet = only_fleet(result);
  REQUIRE(fleet.fate == PlanFate::met);
  CHECK(fleet.whole.p99_ttft_ms < 10'000);
  const Catalog catalog = Catalog::embedded();
  FleetSizer sizer(plan, fleet.candidate, result.traffic[0], catalog, nullptr);
  const FleetMeasure one = sizer.judge(1, {});
  CHECK_FALSE(one.kept());
  CHECK_THAT(one.reason, Catch::Contains("backlog grows"));
}

TEST_CASE("a length that no request needs keeps no device out of a plan") {
  const std::string text = R"({
    "traffic": {"scenario": {"workload": {"arrivals": 1, "num_requests": 60,
        "prompt": 1000, "output": 50}}},
    "slo": {"p99_ttft_ms": 5000},
    "models": ["llama-3.1-8b"],
    "engines": [{"name": "vllm", "version": "0.19"}],
    "instances": [{"device": "rtx4090", "price_per_hour": 1}],
    "tensor_parallel_size": [1], "replications": 1})";
  const FleetPlanFile plan = parse_fleet_plan(parse_json(text, "p.json"), "", "");
  // 131,072 tokens, which the model takes, need 16 GiB of KV.
  const PlannedFleet fleet = only_fleet(planned(plan));
  CHECK(fleet.fate == PlanFate::met);
  CHECK(fleet.candidate.max_model_len > 1050);
  CHECK(fleet.candidate.max_model_len < 131072);
  CHECK(candidate_name(plan, fleet.candidate).ends_with(" tokens"));
  CHECK(case_json(plan, fleet.candidate, {}).at("engine").at("max_model_len") ==
        fleet.candidate.max_model_len);
}

TEST_CASE("N + k replicas keep the targets without k of them, and one more than needed restarts") {
  const FleetPlanFile plan = chat_plan(kOneModel);
  const std::int64_t needed = only_fleet(planned(plan)).needed;
  const PlannedFleet two = only_fleet(planned(chat_plan(kOneModel + R"(, "failures": 2)")));
  CHECK(two.replicas == needed + 2);
  CHECK(two.without_spares.replicas == needed);
  CHECK(two.without_spares.kept());
  CHECK(two.whole.replicas == needed + 2);
  CHECK(two.whole.p99_ttft_ms <= two.without_spares.p99_ttft_ms);
  const PlannedFleet rolling =
      only_fleet(planned(chat_plan(kOneModel + R"(, "rolling_restart": true)")));
  CHECK(rolling.replicas == needed + 1);
  CHECK(rolling.rolling_restart_s ==
        Approx(static_cast<double>(needed + 1) * rolling.bounds.restart_s));
  CHECK(rolling.bounds.restart_s > 0);
}

TEST_CASE("more traffic and slower steps need larger fleets") {
  const PlannedFleet fleet = only_fleet(planned(chat_plan(kOneModel + R"(, "growth": [2, 4])")));
  REQUIRE(fleet.growth.size() == 2);
  CHECK(fleet.growth[0].replicas > fleet.replicas);
  CHECK(fleet.growth[1].replicas > fleet.growth[0].replicas);
  REQUIRE(fleet.slower);
  CHECK(fleet.slower->factor > 1);
  CHECK(fleet.slower->replicas >= fleet.replicas);
}

TEST_CASE("candidates are left out for what they lack") {
  const FleetPlanFile plan = chat_plan(R"("slo": {"p99_ttft_ms": 600, "p99_tpot_ms": 30},
      "models": [{"model": "llama-3.1-70b", "quality": 5}, {"model": "llama-3.1-8b", "quality": 3},
                 {"model": "qwen2.5-7b", "quality": 1}],
      "min_quality": 2,
      "instances": [{"device": "l4", "price_per_hour": 1}, {"device": "h100-sxm",
                    "price_per_hour": 3}], "max_replicas": 40)");
  const FleetPlanResult result = planned(plan);
  REQUIRE(result.fleets.size() == 6);
  CHECK(result.fleets[0].fate == PlanFate::memory);   // 70 B on 24 GB
  CHECK(result.fleets[1].fate == PlanFate::memory);   // on 80 GB
  CHECK(result.fleets[2].fate == PlanFate::latency);  // 16 GB of weights at 300 GB/s: 54 ms a step
  CHECK(result.fleets[2].reason.find("TPOT of a single sequence is") == 0);
  CHECK(result.fleets[3].fate == PlanFate::met);
  CHECK(result.fleets[4].fate == PlanFate::quality);
  CHECK(result.fleets[4].reason == "quality 1 is below 2");
  CHECK(result.chosen == 3U);
  CHECK(result.fleets[3].on_front);
  // What bounds tell costs no simulation.
  CHECK(result.fleets[2].simulations == 0);
}

TEST_CASE("a fleet that would be too large or too dear is no fleet") {
  const FleetPlanFile few = chat_plan(kOneModel + R"(, "max_replicas": 1)");
  CHECK(only_fleet(planned(few)).fate == PlanFate::throughput);
  CHECK_FALSE(planned(few).chosen);
  const PlannedFleet none =
      only_fleet(planned(chat_plan(kOneModel + R"(, "max_cost_per_hour": 0.5)")));
  CHECK(none.fate == PlanFate::cost);
  CHECK(none.reason == "1 replica cost $ 2.00/h, but max_cost_per_hour is 0.5");
  CHECK(none.simulations == 0);
  // One instance, two replicas.
  const PlannedFleet two =
      only_fleet(planned(chat_plan(kOneModel + R"(, "max_cost_per_hour": 3)")));
  CHECK(two.fate == PlanFate::cost);
  CHECK_THAT(two.reason,
             Catch::Contains("with 2 replicas") &&
                 Catch::Contains("the limit is 60: max_cost_per_hour does not allow more"));
}

TEST_CASE("a fleet whose interval reaches over a limit is run again, up to eight times as often") {
  const FleetPlanFile plan = chat_plan(kOneModel);
  const FleetPlanResult result = planned(plan);
  const PlannedFleet& fleet = only_fleet(result);
  const Catalog catalog = Catalog::embedded();
  const std::size_t ttft = 0;
  FleetSizer sizer(plan, fleet.candidate, result.traffic[0], catalog, nullptr);
  const double p99 = sizer.judge(fleet.needed, {}).targets[ttft].mean;
  // With the mean of two runs as the limit, these two tell nothing.
  FleetPlanFile tight = plan;
  tight.targets[ttft].limit_ms = p99;
  FleetSizer open(tight, fleet.candidate, result.traffic[0], catalog, nullptr);
  const FleetMeasure measure = open.judge(fleet.needed, {});
  CHECK(measure.runs > 2);
  CHECK(measure.runs <= plan.replications * kMostPlanRounds);
  CHECK(measure.runs == open.simulations());
}

TEST_CASE("a plan of which no candidate can run is refused with the first reason") {
  FleetPlanFile plan = chat_plan(kOneModel);
  plan.engines = {{{"name", "vllm"}, {"max_num_batched_tokens", 8}, {"max_num_seqs", 256}}};
  CHECK_THROWS_WITH(planned(plan),
                    Catch::Contains("p.json: no candidate can run; the first one fails with ") &&
                        Catch::Contains("/engine/max_num_batched_tokens"));
}

TEST_CASE("a router that keeps promises keeps the tightest limits of the plan") {
  FleetPlanFile plan = chat_plan(R"("router": "slo_aware",
      "slo": {"p99_ttft_ms": 600, "mean_ttft_ms": 300, "p99_tpot_ms": 60},
      "models": ["llama-3.1-8b"], "tensor_parallel_size": [1],
      "instances": [{"device": "l40s", "gpus": 2, "price_per_hour": 2}])");
  const Json scenario = case_json(plan, {}, {.scale = plan.scale, .replicas = 3});
  CHECK(scenario["slo"] == Json{{"ttft_ms", 300.0}, {"tpot_ms", 60.0}});
  CHECK(scenario["fleet"]["router"]["policy"] == "slo_aware");
  const PlannedFleet fleet = only_fleet(planned(plan));
  CHECK(fleet.fate == PlanFate::met);
  CHECK(fleet.without_spares.kept());
}

TEST_CASE("a table of fleets shows every latency that has a target") {
  const FleetPlanFile plan = chat_plan(R"("failures": 1,
      "slo": {"p99_ttft_ms": 600, "mean_ttft_ms": 300, "p99_tpot_ms": 60},
      "models": ["llama-3.1-8b"], "tensor_parallel_size": [1],
      "instances": [{"device": "l40s", "gpus": 2, "price_per_hour": 2}])");
  const FleetPlanResult result = planned(plan);
  const PlannedFleet& fleet = only_fleet(result);
  REQUIRE(fleet.fate == PlanFate::met);
  REQUIRE(fleet.whole.targets.size() == 3);
  const std::string text = plan_text(plan, result, Catalog::embedded(), {}, "");
  const std::size_t head = text.find("mean TTFT  p99 TTFT");
  INFO(text);
  CHECK(head != std::string::npos);
  const auto mean = std::ranges::find(plan.targets, "mean_ttft_ms", &PlanTarget::metric);
  const auto at = static_cast<std::size_t>(mean - plan.targets.begin());
  CHECK(text.find(human_ms(fleet.whole.targets[at].mean), head) != std::string::npos);
}

TEST_CASE("a plan is the same for any number of threads") {
  const FleetPlanFile plan = chat_plan(R"("slo": {"p99_ttft_ms": 600, "p99_tpot_ms": 60},
      "models": ["llama-3.1-8b", "qwen2.5-7b"], "growth": [1.5],
      "instances": [{"device": "l40s", "price_per_hour": 1}, {"device": "h100-sxm",
                    "price_per_hour": 3}])");
  const Catalog catalog = Catalog::embedded();
  const auto text = [&](std::size_t threads) {
    return plan_json(plan, planned(plan, threads), catalog, "test", nullptr).dump();
  };
  const std::string alone = text(1);
  CHECK(alone == text(3));
  CHECK(alone.find("\"fate\":\"met\"") != std::string::npos);
}

}  // namespace headroom::fleet_planner_test
