#include "sim/study/sweep/study_plan.hpp"
#include "tests/support/about.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace headroom::study_plan_test {

namespace {

StudyPlan plan_of(const std::string& rest) {
  return StudyPlan(parse_study(parse_json(R"({"base": "demo", )" + rest + "}", "s.json"), "", {}));
}

// "8/vllm 8/tgi 64/vllm"
std::string points_of(const StudyPlan& plan) {
  std::string text;
  for (std::int64_t point = 0; point < plan.points(); ++point) {
    if (point > 0) text += ' ';
    std::string values;
    for (const StudyParameter& one : plan.parameters(point)) {
      values += (values.empty() ? "" : "/") + one.json;
    }
    text += values;
  }
  return text;
}

test::About check_error(const std::string& rest) {
  return test::about([&] { plan_of(rest).check(Catalog::embedded()); });
}

const std::string kAxes =
    R"("vary": [{"path": "engine.max_num_seqs", "values": [8, 64, 256]},
                {"path": "engine.max_model_len", "values": [16, 64]}])";

}  // namespace

TEST_CASE("points are all combinations in the order of the file, the last axis fastest") {
  CHECK(points_of(plan_of(kAxes)) == "8/16 8/64 64/16 64/64 256/16 256/64");
  CHECK(plan_of(R"("replications": 4)").runs() == 4);  // nothing varied: one point
}

TEST_CASE("the fleet of every point is checked, and a router may choose among one") {
  const auto with_router = [](const std::string& more) {
    return check_error(R"("vary": [{"path": "fleet.replicas", "values": [1, 2, 4]},)" + more + "]");
  };
  CHECK(with_router(R"({"path": "fleet.router.policy", "values": ["random"]})") ==
        test::no_error());
  const test::About error = with_router(R"({"path": "fleet.router.policy", "values": ["slo_aware"]},
                     {"path": "fleet.router.ttft_weight", "values": [0]},
                     {"path": "fleet.router.tpot_weight", "values": [0]})");
  CHECK(error == test::value_at("/fleet/router/ttft_weight"));
  CHECK_THAT(error.complaint.context,
             Catch::StartsWith("point 0: fleet.replicas = 1, fleet.router.policy = "));
}

TEST_CASE("zipped axes count as one") {
  const StudyPlan plan = plan_of(R"("vary": [{"zip": [{"path": "model", "values": ["a", "b"]},
                                   {"path": "device", "values": ["x", "y"]}]},
                          {"path": "engine.max_num_seqs", "values": [1, 2]}])");
  CHECK(points_of(plan) == R"("a"/"x"/1 "a"/"x"/2 "b"/"y"/1 "b"/"y"/2)");
}

TEST_CASE(
    "skip_if leaves out what any of its conditions says, a condition being all of its lines") {
  const StudyPlan plan = plan_of(kAxes + R"(, "skip_if": [
      {"engine.max_num_seqs": {">=": 64}, "engine.max_model_len": 16},
      {"/engine/max_num_seqs": 8}])");
  CHECK(points_of(plan) == "64/64 256/64");
  CHECK(plan.left_out() == 4);
}

TEST_CASE("only_if keeps what all of its conditions say") {
  CHECK(points_of(plan_of(kAxes + R"(, "only_if": [{"engine.max_num_seqs": {"<": 256}},
                                                   {"engine.max_model_len": {"!=": 16}}])")) ==
        "8/64 64/64");
  CHECK(points_of(plan_of(kAxes + R"(, "only_if": [{"engine.max_num_seqs": {"in": [8, 256]}}])")) ==
        "8/16 8/64 256/16 256/64");
}

TEST_CASE("axes are compared with each other") {
  CHECK(points_of(plan_of(kAxes + R"(, "only_if": [
          {"engine.max_num_seqs": {"<=": {"axis": "engine.max_model_len"}}}])")) ==
        "8/16 8/64 64/64");
}

TEST_CASE("conditions that leave nothing are an error") {
  const test::About nothing = test::about(
      [] { return plan_of(kAxes + R"(, "skip_if": [{"engine.max_num_seqs": {">": 0}}])"); });
  CHECK(nothing == test::value_at(""));
  CHECK_THAT(nothing.complaint.problem, Catch::Contains("no point is left"));
}

TEST_CASE("a run's scenario has the point's values and the replication's seed") {
  const StudyPlan plan = plan_of(kAxes + R"(, "replications": 3)");
  const Scenario scenario = plan.scenario(3 * 3 + 2);  // point 3: 64/64
  CHECK(scenario.engine.max_num_seqs == 64);
  CHECK(scenario.engine.max_model_len == 64);
  CHECK(scenario.seed == 3);  // the demo's is 1
  CHECK(scenario.name == "demo");
  CHECK(plan_of(kAxes + R"(, "seeds": [7, 11])").scenario(1).seed == 11);
}

TEST_CASE("shards have every point once, with all its replications") {
  const StudyPlan plan = plan_of(kAxes + R"(, "replications": 2)");
  CHECK(plan.runs_of(parse_shard("1/4")) == std::vector<std::int64_t>{0, 1, 8, 9});
  std::vector<std::int64_t> all;
  for (const char* shard : {"1/4", "2/4", "3/4", "4/4"}) {
    const auto runs = plan.runs_of(parse_shard(shard));
    all.insert(all.end(), runs.begin(), runs.end());
  }
  std::sort(all.begin(), all.end());
  CHECK(all == plan.runs_of({}));
  for (const char* bad : {"0/4", "5/4", "4", "a/b", "1/0", "-1/2", "1/2/3"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_shard(bad), ConfigError);
  }
}

TEST_CASE("every point is checked before anything runs, and errors say which it is") {
  CHECK(check_error(kAxes) == test::no_error());
  const test::About value =
      check_error(R"("vary": [{"path": "engine.max_num_seqs", "values": [8, "many"]}])");
  CHECK(value == test::value_at("/engine/max_num_seqs"));
  CHECK(value.complaint.origin == "s.json: /vary/0/values/1");
  CHECK(value.complaint.context == "point 1: engine.max_num_seqs = \"many\"");
  const test::About device =
      check_error(R"("vary": [{"path": "device", "values": ["h100-sxm", "h1000"]}])");
  CHECK(device == test::unknown_at("/device/name"));
  CHECK_THAT(device.complaint.context, Catch::EndsWith("point 1: device = \"h1000\""));
  // A number where text belongs, as in a scenario file.
  CHECK(check_error(R"("vary": [{"path": "engine.version", "values": [0.19]}])") ==
        test::value_at("/engine/version"));
}

TEST_CASE("more combinations than can be written out are refused") {
  CHECK(test::about([] {
          return plan_of(R"("vary": [
        {"path": "engine.max_num_seqs", "range": {"from": 1, "to": 10000, "step": 1}},
        {"path": "engine.max_model_len", "range": {"from": 1, "to": 10000, "step": 1}}])");
        }) == test::value_at("/vary"));
}

}  // namespace headroom::study_plan_test
