// Plan files of `headroom fleet plan`.

#include "sim/study/plan/plan_file.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include "hardware/catalog.hpp"
#include "sim/study/plan/plan_candidates.hpp"
#include "tests/support/about.hpp"

namespace headroom::plan_file_test {

namespace {

Json small_plan() {
  return Json::parse(R"({
    "traffic": {"scenario": {"workload": {
        "arrivals": {"request_rate": 2}, "duration_s": 60,
        "prompt": {"tokens": 100}, "output": {"tokens": 50}}}},
    "slo": {"p99_ttft_ms": 1000},
    "models": ["llama-3.1-8b"],
    "instances": [{"device": "l40s", "price_per_hour": 1}]})");
}

FleetPlanFile parsed_plan(const Json& json, const std::string& trace = "") {
  return parse_fleet_plan(parse_json(json.dump(), "p.json"), "", trace);
}

// The error of the plan with `value` at `pointer`.
test::About plan_error(const std::string& pointer, const Json& value) {
  Json plan = small_plan();
  plan[Json::json_pointer(pointer)] = value;
  return test::about([&] { return plan_candidates(parsed_plan(plan), Catalog::embedded()); });
}

}  // namespace

TEST_CASE("a plan says little, and the rest has defaults") {
  const FleetPlanFile plan = parsed_plan(small_plan());
  CHECK(plan.name == "p");
  CHECK(plan.scale == 1);
  CHECK(plan.engines == std::vector<Json>{{{"name", "vllm"}}});
  CHECK(plan.environments == std::vector<Json>{{{"name", "native"}}});
  CHECK(plan.tensor_parallel_sizes == std::vector<std::int64_t>{1, 2, 4, 8});
  CHECK(plan.failures == 0);
  CHECK(plan.replications == 3);
  CHECK(plan.instances.front().name == "l40s");
  CHECK(plan_candidates(plan, Catalog::embedded()).size() == 1);  // one device, one split
}

TEST_CASE("traffic in short forms is spelled out, so that it can be scaled") {
  Json plan = small_plan();
  plan["traffic"]["scenario"]["workload"] = {{"arrivals", 20},
                                             {"prompt", "2k"},
                                             {"output", 50},
                                             {"duration_s", "1m"},
                                             {"classes", {{{"share", 1}, {"prompt", 10}}}}};
  const Json workload = parsed_plan(plan).workload;
  CHECK(workload.at("arrivals") == Json{{"request_rate", 20}});
  CHECK(workload.at("prompt") == Json{{"tokens", 2048}});
  CHECK(workload.at("duration_s") == 60);
  CHECK(workload.at("classes").at(0).at("prompt") == Json{{"tokens", 10}});
}

TEST_CASE("a wrong plan is told with its place, the value and what is allowed") {
  CHECK(plan_error("/slos", 1) == test::unknown_at("/slos"));
  CHECK(plan_error("/slo/p98_ttft_ms", 1) == test::unknown_at("/slo/p98_ttft_ms"));
  CHECK(plan_error("/slo/p99_ttft_ms", "fast") == test::value_at("/slo/p99_ttft_ms"));
  CHECK(plan_error("/models", Json::array()) == test::value_at("/models"));
  CHECK(plan_error("/models/0", {{"quality", 1}}) == test::missing_at("/models/0/model"));
  CHECK(plan_error("/models/0", "lama-3.1-8b") == test::unknown_at("/models/0"));
  CHECK(plan_error("/models/1", "llama-3.1-8b") == test::conflict_at("/models/1"));
  CHECK(plan_error("/instances/0/device", "l41s") == test::unknown_at("/instances/0/device"));
  CHECK(plan_error("/instances/0/price_per_hour", 0) ==
        test::value_at("/instances/0/price_per_hour"));
  CHECK(plan_error("/instances/0/nic_gb_per_s", 50) ==
        test::no_effect_at("/instances/0/nic_gb_per_s"));
  CHECK(plan_error("/engines", {{{"name", "vllm"}, {"tensor_parallel_size", 2}}}) ==
        test::conflict_at("/engines/0/tensor_parallel_size"));
  CHECK(plan_error("/tensor_parallel_size", {2}) == test::value_at("/tensor_parallel_size"));
  CHECK(plan_error("/growth", {0.5}) == test::value_at("/growth/0"));
  CHECK(plan_error("/router", "least_outstandin") == test::unknown_at("/router"));
  CHECK(plan_error("/router", "least_outstandin").complaint.nearest == "least_outstanding");
  CHECK(plan_error("/router", "slo_aware") == test::no_error());
  CHECK(plan_error("", {{"traffic", small_plan()["traffic"]},
                        {"slo", {{"p99_e2el_ms", 9}}},
                        {"models", {"llama-3.1-8b"}},
                        {"instances", small_plan()["instances"]},
                        {"router", "slo_aware"}}) == test::value_at("/router"));
  CHECK(plan_error("/min_quality", 5) == test::missing_at("/models/0/quality"));
  CHECK(plan_error("/traffic/scenario", "no-such") == test::unreadable_at("/traffic/scenario"));
  CHECK(plan_error("/failures", 1.5) == test::value_at("/failures"));
}

TEST_CASE("a trace on the command line needs traffic that is a trace") {
  const test::About flag = test::about([] { return parsed_plan(small_plan(), "a.csv"); });
  CHECK(flag.kind == ErrorKind::no_effect);
  CHECK(flag.complaint.origin == "--trace a.csv");
}

TEST_CASE("instances are paid for as a whole") {
  Json json = small_plan();
  json["instances"][0] = {{"device", "l40s"}, {"gpus", 8}, {"price_per_hour", 8}};
  const FleetPlanFile plan = parsed_plan(json);
  const auto candidates = plan_candidates(plan, Catalog::embedded());
  REQUIRE(candidates.size() == 4);
  CHECK(replicas_per_instance(plan, candidates[2]) == 2);  // of four devices each
  CHECK(instances_for(plan, candidates[2], 5) == 3);
  CHECK(cost_per_hour(plan, candidates[2], 5) == 24);
}

TEST_CASE("ready plans can be read, and the schema is the committed one") {
  CHECK(plan_files().size() >= 2);
  for (const EmbeddedFile& file : plan_files()) {
    const FleetPlanFile plan =
        parse_fleet_plan(parse_json(file.content, std::string(file.name)), "", "");
    CHECK_FALSE(plan_candidates(plan, Catalog::embedded()).empty());
  }
  std::ifstream file(HEADROOM_SOURCE_DIR "/scenarios/plan.schema.json");
  std::stringstream committed;
  committed << file.rdbuf();
  // Refresh with: headroom list plan-schema > scenarios/plan.schema.json
  CHECK(committed.str() == plan_schema().dump(2) + "\n");
}

}  // namespace headroom::plan_file_test
