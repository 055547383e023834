// Routes of other tokens and cascades: from the options of a scenario to its results.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <string>

#include "sim/resolve/run.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"

namespace headroom::fleet_cascade_test {

namespace {

constexpr const char* kRoutesOfTwo =
    R"({"name": "s", "groups": ["small"], "share": 1, "escalates_to": "l", "escalates_share": 0.3},
       {"name": "l", "groups": ["large"]})";

Scenario cascade(const std::string& routes, const std::string& more = "") {
  const std::string text =
      R"({"model": "llama-3.1-8b", "device": "h100-sxm",
          "engine": {"name": "vllm", "max_model_len": 4096, "max_num_seqs": 64},
          "workload": {"arrivals": {"process": "poisson", "request_rate": 20},
                       "num_requests": 1000, "prompt": {"tokens": 200}, "output": {"tokens": 50},
                       "max_tokens": {"rule": "times_output", "times_output": 1}},
          "fleet": {"groups": [{"name": "small", "count": 2},
                               {"name": "large", "model": "qwen3-14b"}],
                    "routes": [)" +
      routes + "]" + more + "}}";
  return parse_scenario(parse_json(text, "s.json"));
}

RunResult run_cascade_of(const std::string& routes, const std::string& more = "") {
  return run(cascade(routes, more), Catalog::embedded());
}

test::About cascade_complaint(const std::string& routes, const std::string& more = "") {
  return test::about([&] { return check(cascade(routes, more), Catalog::embedded()); });
}

// Both routes get arrivals; what else they say.
std::string both(const std::string& s, const std::string& l) {
  return R"({"name": "s", "groups": ["small"], "share": 1)" + s +
         R"(}, {"name": "l", "groups": ["large"], "share": 1)" + l + "}";
}

}  // namespace

TEST_CASE("a share of the requests is answered by both models, and counts once") {
  const RunResult result = run_cascade_of(kRoutesOfTwo);
  CHECK(result.summary.requests.arrived == 1000);
  CHECK(result.summary.requests.finished == 1000);
  REQUIRE(result.totals.routes.size() == 2);
  const RouteCounts& small = result.totals.routes[0];
  const RouteCounts& large = result.totals.routes[1];
  CHECK(small.arrived == 1000);
  CHECK(std::abs(small.escalated - 300) < 60);  // a deviation of 14.5
  CHECK(small.of(Outcome::finished) == 1000 - small.escalated);
  CHECK(large.from_routes == small.escalated);
  CHECK(large.of(Outcome::finished) == small.escalated);
  // Throughput is of answers that are kept; replicas computed all.
  CHECK(result.summary.metrics.total_output_tokens == 50'000);
  CHECK(small.wasted_tokens == 50 * small.escalated);
  CHECK(result.totals.replicas[0].output_tokens + result.totals.replicas[1].output_tokens ==
        50'000);
  CHECK(result.totals.replicas[2].output_tokens == 50 * small.escalated);
  for (const RequestRecord& record : result.recorder->records()) {
    REQUIRE((record.first_token_ns == record.finish_ns) == (record.replica != 2));
  }
}

TEST_CASE("who goes on is the same whatever the routers do") {
  const RunResult plain = run_cascade_of(kRoutesOfTwo);
  const RunResult turns =
      run_cascade_of(kRoutesOfTwo, R"(, "router": {"policy": "round_robin"}, "faults":
                                       {"crashes": [{"replica": 0, "at_s": 20, "down_s": 3}],
                                        "resend": true})");
  CHECK(turns.summary.requests.finished == 1000);
  const auto before = plain.recorder->records();
  const auto after = turns.recorder->records();
  REQUIRE(before.size() == after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    REQUIRE((before[i].replica == 2) == (after[i].replica == 2));
  }
}

TEST_CASE("a cascade with replicas that come and go loses nobody") {
  const RunResult result =
      run_cascade_of(kRoutesOfTwo, R"(, "autoscaling": [{"group": "large", "max_replicas": 3,
                                          "metric": "in_flight", "target": 2, "start_s": 5}])");
  CHECK(result.summary.requests.finished == 1000);
  CHECK(result.totals.lifecycle->most_at_once[1] > 1);
}

TEST_CASE("records are in the tokens of the route's model") {
  const RunResult result = run_cascade_of(
      R"({"name": "s", "groups": ["small"], "share": 1},
         {"name": "l", "groups": ["large"], "share": 1, "input_tokens_factor": 1.1,
          "output_tokens_factor": 1.3})");
  CHECK(result.summary.requests.finished == 1000);
  for (const RequestRecord& record : result.recorder->records()) {
    const bool large = record.replica == 2;
    REQUIRE(record.prompt_tokens == (large ? 220 : 200));
    REQUIRE(record.output_tokens == (large ? 65 : 50));
    REQUIRE(record.max_tokens == record.output_tokens);
  }
  CHECK(result.totals.routes[1].from_routes == 0);
}

TEST_CASE("a route whose tokens make prompts too long rejects them") {
  const RunResult result = run_cascade_of(
      R"({"name": "s", "groups": ["small"], "share": 1, "escalates_to": "l", "escalates_share": 1},
         {"name": "l", "groups": ["large"], "input_tokens_factor": 25})");
  CHECK(result.summary.requests.rejected == 1000);
  CHECK(result.totals.routes[1].of(Outcome::rejected) == 1000);
}

TEST_CASE("routes without factors and cascades are not staged") {
  const RunResult result = run_cascade_of(both("", R"(, "output_tokens_factor": 1)"));
  CHECK(result.totals.routes.empty());
  CHECK(result.summary.requests.finished == 1000);
}

TEST_CASE("errors of cascades name the place, the value and what is allowed") {
  const std::string to = R"(, "escalates_share": 0.5, "escalates_to": )";
  CHECK(cascade_complaint(both(to + R"("l")", to + R"("s")")) ==
        test::conflict_at("/fleet/routes/0/escalates_to"));
  CHECK(cascade_complaint(both(to + R"("s")", "")) ==
        test::conflict_at("/fleet/routes/0/escalates_to"));
  CHECK(cascade_complaint(both(to + R"("x")", "")) ==
        test::unknown_at("/fleet/routes/0/escalates_to"));
  CHECK(cascade_complaint(both(R"(, "escalates_to": "l")", "")) ==
        test::missing_at("/fleet/routes/0"));
  CHECK(cascade_complaint(both("", R"(, "judge_ms": 5)")) ==
        test::no_effect_at("/fleet/routes/1/judge_ms"));
  CHECK(cascade_complaint(both("", R"(, "escalates_with_answer": true)")) ==
        test::no_effect_at("/fleet/routes/1/escalates_with_answer"));
  CHECK(cascade_complaint(both("", R"(, "thinking_tokens_factor": 2)")) ==
        test::no_effect_at("/fleet/routes/1/thinking_tokens_factor"));
  CHECK(cascade_complaint(both(R"(, "escalates_share": 0)", "")) ==
        test::value_at("/fleet/routes/0/escalates_share"));
  CHECK(cascade_complaint(both(R"(, "input_tokens_factor": 2000)", "")) ==
        test::value_at("/fleet/routes/0/input_tokens_factor"));
  // A name with a typo, of the route that it should be.
  CHECK(cascade_complaint(R"({"name": "s", "groups": ["small"], "share": 1, "escalates_to": "L",
                              "escalates_share": 0.3}, {"name": "l", "groups": ["large"]})") ==
        test::unknown_at("/fleet/routes/0/escalates_to"));
  // Reached by nobody.
  CHECK(cascade_complaint(R"({"name": "s", "groups": ["small"], "share": 1},
                             {"name": "l", "groups": ["large"]})") ==
        test::missing_at("/fleet/routes/1"));
}

TEST_CASE("policies that go by latencies are refused where clients see other ones") {
  const std::string scaling = R"(, "autoscaling": [{"max_replicas": 3, "target": 50, )";
  CHECK(cascade_complaint(kRoutesOfTwo, scaling + R"("group": "large", "metric": "tpot"}])") ==
        test::conflict_at("/fleet/autoscaling/0/metric"));
  CHECK(cascade_complaint(kRoutesOfTwo, scaling + R"("group": "small", "metric": "ttft"}])") ==
        test::conflict_at("/fleet/autoscaling/0/metric"));
  CHECK(cascade_complaint(kRoutesOfTwo, scaling + R"("group": "small", "metric": "queue"}])") ==
        test::no_error());
  CHECK(cascade_complaint(kRoutesOfTwo, R"(, "router": {"policy": "slo_aware"}},
                                           "slo": {"ttft_ms": 500)") ==
        test::conflict_at("/fleet/router/policy"));
}

}  // namespace headroom::fleet_cascade_test
