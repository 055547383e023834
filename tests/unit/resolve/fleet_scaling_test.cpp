// Autoscaling, rolling restarts and zones: from the options of a scenario to its results.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/report/json/fleet_json.hpp"
#include "sim/report/text/fleet_report.hpp"
#include "sim/resolve/run.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"

namespace headroom::fleet_scaling_test {

namespace {

// 20 s of 40 requests a second, each in the engine for about half a second.
const std::string kSystem =
    R"("model": "llama-3.1-8b", "device": "h100-sxm",
       "engine": {"name": "vllm", "max_model_len": 4096, "max_num_seqs": 64},
       "workload": {"arrivals": {"process": "constant", "request_rate": 40}, "num_requests": 800,
                    "prompt": {"tokens": 200}, "output": {"tokens": 50}})";

Scenario scenario_with(const std::string& fleet) {
  return parse_scenario(parse_json("{" + kSystem + ", \"fleet\": " + fleet + "}", "s.json"));
}

RunResult result_of(const std::string& fleet) {
  return run(scenario_with(fleet), Catalog::embedded());
}

test::About refusal_of(const std::string& fleet) {
  return test::about([&] { return check(scenario_with(fleet), Catalog::embedded()); });
}

std::string scaled(const std::string& more) {
  return R"({"autoscaling": [{"metric": "in_flight", "interval_s": 5, )" + more + "}]}";
}

double seconds_of(const RunResult& result, std::size_t replica) {
  return static_cast<double>(result.totals.lifecycle->exists_ns[replica]) / 1e9;
}

}  // namespace

TEST_CASE("a fleet that may not change its size is the fleet without autoscaling") {
  for (const char* metric : {"utilization", "queue", "kv", "in_flight"}) {
    const std::string scaling = R"("autoscaling": [{"min_replicas": 3, "max_replicas": 3,
        "metric": ")" + std::string(metric) +
                                R"(", "target": 0.1, "interval_s": 0.5}])";
    const std::string crash = R"("faults": {"resend": true,
        "crashes": [{"replica": 1, "at_s": 5, "down_s": 2}]})";
    const RunResult still = result_of("{\"replicas\": 3, " + crash + "}");
    const RunResult same = result_of("{" + scaling + ", " + crash + "}");
    CHECK(same.digest == still.digest);
    CHECK(same.totals.lifecycle->decisions.empty());
    CHECK(seconds_of(same, 2) == Approx(static_cast<double>(same.totals.end_ns) / 1e9));
  }
}

TEST_CASE("a replica that is added serves after provisioning and start, and is paid from before") {
  // 40 a second for about half a second each: about 20 in flight, so that 8 each are too many.
  const RunResult result =
      result_of(scaled(R"("max_replicas": 2, "target": 8, "provisioning_s": 4, "start_s": 2)"));
  REQUIRE(result.totals.lifecycle->decisions.size() == 1);
  CHECK(result.totals.lifecycle->decisions[0].time_ns == 5 * kNsPerSecond);
  CHECK(result.totals.lifecycle->decisions[0].to == 2);
  TimeNs first = kNever;
  for (const RequestRecord& record : result.recorder->records()) {
    if (record.replica == 1) first = std::min(first, record.arrival_ns);
  }
  CHECK(first >= 11 * kNsPerSecond);
  CHECK(first < 11 * kNsPerSecond + kNsPerSecond / 20);
  CHECK(seconds_of(result, 1) == Approx(static_cast<double>(result.totals.end_ns) / 1e9 - 5));
  CHECK(result.summary.requests.finished == 800);

  const RunResult idle = result_of(scaled(
      R"("max_replicas": 2, "target": 8, "provisioning_s": 4, "start_s": 2, "nodes_ready": 1)"));
  TimeNs sooner = kNever;
  for (const RequestRecord& record : idle.recorder->records()) {
    if (record.replica == 1) sooner = std::min(sooner, record.arrival_ns);
  }
  CHECK(first - sooner == 4 * kNsPerSecond);
}

TEST_CASE("a fleet that shrinks drains, and loses nobody") {
  const RunResult result = result_of(
      R"({"replicas": 4, "autoscaling": [{"min_replicas": 1, "max_replicas": 4,
          "metric": "utilization", "target": 1, "tolerance": 0, "interval_s": 2,
          "scale_down_stabilization_s": 4}], "router": {"policy": "round_robin"}})");
  CHECK(result.summary.requests.finished == 800);
  // All four are busy all the time: nothing to take away.
  CHECK(result.totals.lifecycle->decisions.empty());

  const RunResult fewer = result_of(
      R"({"replicas": 4, "autoscaling": [{"min_replicas": 1, "max_replicas": 4,
          "metric": "in_flight", "target": 100, "interval_s": 2,
          "scale_down_stabilization_s": 4}]})");
  CHECK(fewer.summary.requests.finished == 800);
  REQUIRE(fewer.totals.lifecycle->decisions.size() == 1);
  CHECK(fewer.totals.lifecycle->decisions[0].time_ns == 4 * kNsPerSecond);
  CHECK(fewer.totals.lifecycle->decisions[0].to == 1);
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(seconds_of(fewer, i) > 4);
    CHECK(seconds_of(fewer, i) < 6);
  }
  for (const RequestRecord& record : fewer.recorder->records()) {
    // One that arrives in the ns of the decision comes before it.
    REQUIRE((record.arrival_ns <= 4 * kNsPerSecond || record.replica == 0));
  }
}

TEST_CASE("a fleet grows when first tokens come late, and before they come at all") {
  // One replica of four seats: 40 requests a second are far too many for it.
  const std::string seats = R"("groups": [{"name": "g", "engine": {"max_num_seqs": 4}}])";
  const auto with = [&](const std::string& metric) {
    return result_of("{" + seats + R"(, "autoscaling": [{"interval_s": 5, "min_replicas": 1,
        "max_replicas": 6, "start_s": 1, )" +
                     metric + "}]}");
  };
  const RunResult ttft = with(R"("metric": "ttft", "target": 200)");
  REQUIRE_FALSE(ttft.totals.lifecycle->decisions.empty());
  const ScaleDecision& first = ttft.totals.lifecycle->decisions.front();
  CHECK(first.time_ns == 5 * kNsPerSecond);
  CHECK(first.metric > 220);   // ms
  CHECK(first.metric < 5000);  // nobody has waited longer
  CHECK(ttft.summary.requests.finished == 800);
  const RunResult median = with(R"("metric": "ttft", "target": 200, "percentile": 50)");
  CHECK(median.totals.lifecycle->decisions.front().metric < first.metric);

  // TPOT does not grow with the queue: four seats are four seats.
  const RunResult tpot = with(R"("metric": "tpot", "target": 50)");
  CHECK(tpot.totals.lifecycle->decisions.empty());
  const RunResult strict = with(R"("metric": "tpot", "target": 2)");
  CHECK(strict.totals.lifecycle->decisions.front().to > 1);
}

TEST_CASE("who waits too long for a first token counts before it is there") {
  // A prompt of 100 s, and nothing else: no first token in any interval but the last.
  Scenario long_prompt = scenario_with(R"({"autoscaling": [{"metric": "ttft", "target": 8000,
      "interval_s": 5, "max_replicas": 4, "start_s": 1, "tolerance": 0}]})");
  long_prompt.workload.num_requests = 1;
  long_prompt.cost.level = "affine";
  long_prompt.cost.affine.prompt_token_us = 500'000;
  const RunResult result = run(long_prompt, Catalog::embedded());
  const auto& decisions = result.totals.lifecycle->decisions;
  REQUIRE(decisions.size() >= 2);
  CHECK(decisions[0].time_ns == 10 * kNsPerSecond);  // at 5 s it is not overdue
  CHECK(decisions[0].metric == Approx(10'000).margin(50));
  CHECK(decisions[0].to == 2);
}

TEST_CASE("idle nodes are paid for where the scenario says so") {
  const auto with = [](const std::string& more) {
    return result_of(R"({"cost_per_hour": 1, "autoscaling": [{"metric": "in_flight",
        "interval_s": 5, "max_replicas": 3, "target": 1000, "provisioning_s": 10,
        "nodes_ready": 2)" +
                     more + "}]}");
  };
  const RunResult unpaid = with("");
  CHECK(unpaid.totals.lifecycle->idle_node_ns == std::vector{2 * unpaid.totals.end_ns});
  CHECK(fleet_json(unpaid)["cost_per_hour"] == Approx(1));
  CHECK(fleet_json(with(R"(, "pay_idle_nodes": true)"))["cost_per_hour"] == Approx(3));
}

TEST_CASE("a rolling restart loses nobody, and every replica restarts once") {
  const RunResult result = result_of(R"({"replicas": 3, "restarts": [{"at_s": 3, "down_s": 2}]})");
  CHECK(result.summary.requests.finished == 800);
  CHECK(result.totals.lifecycle->restarts == 3);
  CHECK(result.totals.without_replica == 0);
}

TEST_CASE("while no replica is there to take them, requests are turned away") {
  const RunResult result =
      result_of(R"({"replicas": 2, "restarts": [{"at_s": 3, "down_s": 2, "at_once": 2}]})");
  CHECK(result.totals.lifecycle->restarts == 2);
  CHECK(result.totals.without_replica > 80);
  CHECK(result.totals.turned_away == result.totals.without_replica);
  CHECK(result.summary.requests.rejected == result.totals.turned_away);
  CHECK(result.summary.requests.finished + result.summary.requests.rejected == 800);
}

TEST_CASE("a zone takes its replicas with it") {
  const std::string loss = R"("zones": 2, "faults": {"zone_losses": [
      {"zone": 1, "at_s": 5, "for_s": 3}]}})";
  const RunResult lost = result_of("{\"replicas\": 4, " + loss);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(lost.totals.replicas[i].crashes == static_cast<std::int64_t>(i % 2));
  }
  CHECK(lost.summary.requests.lost_to_fault > 0);
  CHECK(lost.summary.requests.finished + lost.summary.requests.lost_to_fault == 800);
}

TEST_CASE("errors of autoscaling and zones say what is allowed") {
  CHECK(refusal_of(R"({"autoscaling": [{"max_replicas": 2, "metric": "queue"}]})") ==
        test::missing_at("/fleet/autoscaling/0"));
  CHECK(refusal_of(scaled(R"("max_replicas": 2, "target": 8, "targets": 1)")) ==
        test::unknown_at("/fleet/autoscaling/0/targets"));
  CHECK(refusal_of(scaled(R"("min_replicas": 3, "max_replicas": 2, "target": 8)")) ==
        test::value_at("/fleet/autoscaling/0/max_replicas"));
  CHECK(refusal_of(scaled(R"("max_replicas": 2, "target": 8, "group": "b")")) ==
        test::unknown_at("/fleet/autoscaling/0/group"));
  CHECK(refusal_of(scaled(R"("max_replicas": 2, "target": 8, "nodes_ready": 1)")) ==
        test::no_effect_at("/fleet/autoscaling/0/nodes_ready"));
  CHECK(refusal_of(scaled(R"("max_replicas": 2, "target": 8, "period_s": 9)")) ==
        test::no_effect_at("/fleet/autoscaling/0/period_s"));
  CHECK(refusal_of(R"({"replicas": 3, "autoscaling": [
            {"max_replicas": 2, "metric": "kv", "target": 0.5}]})") ==
        test::value_at("/fleet/replicas"));
  CHECK(refusal_of(R"({"replicas": 1, "autoscaling": [
            {"max_replicas": 2, "metric": "kv", "target": 50}]})") ==
        test::value_at("/fleet/autoscaling/0/target"));
  CHECK(refusal_of(R"({"groups": [{"name": "a"}, {"name": "b"}], "autoscaling": [
            {"max_replicas": 2, "metric": "kv", "target": 0.5}]})") ==
        test::missing_at("/fleet/autoscaling/0"));
  CHECK(refusal_of(R"({"replicas": 2, "zones": 2})") == test::no_effect_at("/fleet/zones"));
  CHECK(refusal_of(R"({"replicas": 2, "faults": {"zone_losses": [
            {"zone": 1, "at_s": 5, "for_s": 3}]}})") ==
        test::value_at("/fleet/faults/zone_losses/0/zone"));
}

}  // namespace headroom::fleet_scaling_test
