// Several models behind one entry: from the options of a scenario to its results.

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sim/resolve/run.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"

namespace headroom::fleet_routes_test {

namespace {

constexpr const char* kPlain = R"("prompt": {"tokens": 200}, "output": {"tokens": 50})";
constexpr const char* kClasses =
    R"("classes": [
         {"name": "chat", "share": 3, "prompt": {"tokens": 200}, "output": {"tokens": 50}},
         {"name": "code", "share": 1, "priority": -1, "prompt": {"tokens": 300},
          "output": {"tokens": 50}}])";
constexpr const char* kGroups =
    R"("groups": [{"name": "small", "count": 2}, {"name": "large", "model": "qwen3-14b"}])";

Scenario routed(const std::string& fleet, const char* workload) {
  const std::string text =
      R"({"model": "llama-3.1-8b", "device": "h100-sxm",
          "engine": {"name": "vllm", "max_model_len": 4096, "max_num_seqs": 64},
          "workload": {"arrivals": {"process": "constant", "request_rate": 40},
                       "num_requests": 1000, )" +
      std::string(workload) + "}, \"fleet\": {" + fleet + "}}";
  return parse_scenario(parse_json(text, "s.json"));
}

RunResult run_routed(const std::string& fleet, const char* workload = kPlain) {
  return run(routed(fleet, workload), Catalog::embedded());
}

std::string routes(const std::string& list) {
  return std::string(kGroups) + ", \"routes\": [" + list + "]";
}

test::About complaint(const std::string& fleet, const char* workload = kPlain) {
  return test::about([&] { return check(routed(fleet, workload), Catalog::embedded()); });
}

std::int64_t of_large(const RunResult& result) {
  return result.totals.replicas[2].of(Outcome::finished);
}

const std::string kShares = R"({"name": "s", "groups": ["small"], "share": 0.7},
                               {"name": "l", "groups": ["large"], "share": 0.3})";

}  // namespace

TEST_CASE("a share of the requests goes to the other model, whatever else changes") {
  const RunResult result = run_routed(routes(kShares));
  CHECK(result.summary.requests.finished == 1000);
  CHECK(std::abs(of_large(result) - 300) < 60);  // a deviation of 14.5
  const RunResult turns = run_routed(routes(kShares) + R"(, "router": {"policy": "round_robin"})");
  CHECK(of_large(turns) == of_large(result));
  // In turn within the route.
  CHECK(std::abs(turns.totals.replicas[0].of(Outcome::finished) -
                 turns.totals.replicas[1].of(Outcome::finished)) <= 1);
}

TEST_CASE("options of a router are those of the policies that its routes have") {
  const auto with = [](const std::string& route, const std::string& router) {
    return routes(R"({"name": "s", "groups": ["small"], "share": 0.7)" + route +
                  R"(}, {"name": "l", "groups": ["large"], "share": 0.3})") +
           R"(, "router": {)" + router + R"("kv_weight": 3})";
  };
  const std::string weighted = R"(, "policy": "weighted")";
  const std::string least_kv = R"(, "policy": "least_kv")";
  CHECK(complaint(with(weighted, "")) == test::no_error());
  CHECK(complaint(with("", R"("policy": "weighted", )")) == test::no_error());
  CHECK(complaint(with(least_kv, "")) == test::no_effect_at("/fleet/router/kv_weight"));
  // A route of one replica takes the router's policy, though it has nothing to choose.
  CHECK(complaint(with(least_kv, R"("policy": "weighted", )")) == test::no_error());
}

TEST_CASE("a class goes to its route, all others to the shares") {
  const RunResult result =
      run_routed(routes(R"({"name": "s", "groups": ["small"], "share": 1, "policy": "random"},
                           {"name": "l", "groups": ["large"], "classes": ["code"]})"),
                 kClasses);
  CHECK(result.summary.requests.finished == 1000);
  for (const RequestRecord& record : result.recorder->records()) {
    REQUIRE((record.replica == 2) == (record.prompt_tokens == 300));
  }
  CHECK(of_large(result) > 150);
}

TEST_CASE("the first priority has places of its own at the door") {
  const RunResult result = run_routed(
      R"("replicas": 1, "admission": {"policy": "priority", "max_in_flight": 20,
                                      "low_share": 0.2})",
      kClasses);
  std::int64_t away[2] = {0, 0};
  for (const RequestRecord& record : result.recorder->records()) {
    away[record.class_id] += record.outcome == Outcome::rejected ? 1 : 0;
  }
  CHECK(away[0] > 100);
  CHECK(away[1] == 0);
  CHECK(result.totals.turned_away == away[0]);
}

TEST_CASE("errors of routes name the place and what is allowed") {
  CHECK(complaint(routes(R"({"name": "s", "groups": ["small", "large"]})")) ==
        test::missing_at("/fleet/routes/0"));
  CHECK(complaint(routes(R"({"name": "s", "groups": ["small"], "share": 1})")) ==
        test::missing_at("/fleet/routes"));
  CHECK(complaint(routes(R"({"name": "s", "groups": ["small", "medium"], "share": 1})")) ==
        test::unknown_at("/fleet/routes/0/groups"));
  CHECK(complaint(routes(R"({"name": "s", "groups": ["small", "small"], "share": 1})")) ==
        test::conflict_at("/fleet/routes/0/groups"));
  CHECK(complaint(routes(kShares + R"(, {"name": "s", "groups": ["small"], "share": 1})")) ==
        test::conflict_at("/fleet/routes/2/name"));
  CHECK(complaint(routes(R"({"name": "s", "groups": ["small", "large"], "classes": ["x"]})")) ==
        test::unknown_at("/fleet/routes/0/classes"));
  CHECK(complaint(routes(R"({"name": "s", "groups": ["small", "large"], "classes": ["code"]})"),
                  kClasses) == test::missing_at("/fleet/routes"));
  CHECK(complaint(routes(R"({"name": "s", "groups": "small", "share": 1})")) ==
        test::value_at("/fleet/routes/0/groups"));
  CHECK(complaint(routes(R"({"name": "s", "groups": ["small"], "share": 1},
                            {"name": "l", "groups": ["large"], "share": 1,
                             "policy": "random"})")) == test::no_error());
  CHECK(complaint(routes(R"({"name": "s", "groups": ["small"], "share": 1, "policy": "random"},
                            {"name": "l", "groups": ["large"], "share": 1,
                             "policy": "random"})") +
                  R"(, "router": {"policy": "random"})") ==
        test::no_effect_at("/fleet/router/policy"));
  CHECK(complaint(R"("replicas": 2, "admission": {"policy": "priority", "max_in_flight": 9,
                                                  "low_share": 0.5})") ==
        test::value_at("/fleet/admission/policy"));
}

}  // namespace headroom::fleet_routes_test
