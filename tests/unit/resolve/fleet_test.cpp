// Section `fleet`: from the options of a scenario to its results.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scheduler/routing/routers.hpp"
#include "sim/resolve/fleet_factory.hpp"
#include "sim/resolve/run.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"

namespace headroom::fleet_test {

namespace {

const std::string kBase =
    R"("model": "llama-3.1-8b", "device": "h100-sxm",
       "engine": {"name": "vllm", "max_model_len": 4096, "max_num_seqs": 64},
       "workload": {"arrivals": {"process": "constant", "request_rate": 40}, "num_requests": 400,
                    "prompt": {"tokens": 200}, "output": {"tokens": 50}})";

Scenario parsed(const std::string& fleet) {
  const std::string more = fleet.empty() ? "" : ", \"fleet\": " + fleet;
  return parse_scenario(parse_json("{" + kBase + more + "}", "s.json"));
}

test::About error_of(const std::string& fleet) {
  return test::about([&] { return check(parsed(fleet), Catalog::embedded()); });
}

// Clients were promised a TTFT of 500 ms and a TPOT of 50.
Scenario promised(const std::string& fleet) {
  return parse_scenario(parse_json(
      "{" + kBase + R"(, "slo": {"ttft_ms": 500, "tpot_ms": 50}, "fleet": )" + fleet + "}",
      "s.json"));
}

RunResult run_fleet(const std::string& fleet) { return run(parsed(fleet), Catalog::embedded()); }

std::int64_t finished(const RunResult& result, std::size_t replica) {
  return result.totals.replicas[replica].of(Outcome::finished);
}

}  // namespace

TEST_CASE("a fleet of one is the scenario without a fleet") {
  const RunResult alone = run_fleet("");
  const RunResult one = run_fleet(R"({"replicas": 1})");
  CHECK_FALSE(alone.is_fleet);
  CHECK(alone.groups.size() == 1);
  CHECK(one.groups.size() == 1);
  CHECK(one.digest == alone.digest);
}

TEST_CASE("four replicas in turn serve a quarter each") {
  const RunResult result = run_fleet(R"({"replicas": 4, "router": {"policy": "round_robin"}})");
  REQUIRE(result.totals.replicas.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(finished(result, i) == 100);
  for (const RequestRecord& record : result.recorder->records()) {
    REQUIRE(record.replica == record.index % 4);
  }
}

TEST_CASE("groups are the scenario with what they say instead") {
  const RunResult result = run_fleet(R"({"groups": [
      {"name": "big", "count": 2, "cost_per_hour": 4},
      {"name": "small", "device": "l4", "engine": {"max_num_seqs": 16}},
      {"name": "other", "engine": "sglang", "model": "qwen3-14b"}]})");
  REQUIRE(result.groups.size() == 3);
  const Resolved& big = result.groups[0].resolved;
  const Resolved& small = result.groups[1].resolved;
  const Resolved& other = result.groups[2].resolved;
  CHECK(big.device.id == "h100-sxm");
  CHECK(big.max_num_seqs == 64);
  // An engine that is not named otherwise keeps the options that the group does not mention.
  CHECK(small.device.id == "l4");
  CHECK(small.max_num_seqs == 16);
  CHECK(small.max_model_len == 4096);
  // Another engine begins from its own defaults.
  CHECK(other.engine->name == "sglang");
  CHECK_FALSE(other.scenario.is_given("/engine/max_model_len"));
  CHECK(other.model.id == "qwen3-14b");
  CHECK(result.groups[0].pool_tokens > result.groups[1].pool_tokens);
  CHECK(result.totals.replicas.size() == 4);
  CHECK(result.summary.requests.finished == 400);

  for (const ResolvedValue& value : result.groups[1].values) {
    if (value.pointer == "/engine/max_num_seqs") {
      CHECK(value.source == "s.json: /fleet/groups/1");
    }
    if (value.pointer == "/engine/max_model_len") CHECK(value.source == "s.json");
  }
}

TEST_CASE("a group that does not start is the run's start-up OOM, by its name") {
  const RunResult result =
      run_fleet(R"({"groups": [{"name": "fits"}, {"name": "small", "model": "llama-3.1-70b"}]})");
  CHECK_FALSE(result.started);
  REQUIRE(result.budget.failure);
  CHECK(result.budget.failure->message.starts_with("fleet group small: "));
  CHECK(result.resolved.model.id == "llama-3.1-70b");
}

std::vector<std::string> routers_of(std::string_view pointer, std::span<const OptionRow> rows) {
  const auto row = std::ranges::find(rows, pointer, &OptionRow::pointer);
  REQUIRE(row != rows.end());
  return choices_of(*row);
}

TEST_CASE("the routers that scenarios name are those of the table") {
  std::vector<std::string> table;
  for (const RouterRow& one : router_rows()) table.emplace_back(one.name);
  CHECK(routers_of("/fleet/router/policy", fleet_options()) == table);
  CHECK(routers_of("/fleet/routes/policy", fleet_route_element_options()) == table);
  // A decode replica alone keeps no promise: slo_aware is missing.
  std::erase(table, "slo_aware");
  CHECK(routers_of("/fleet/disaggregation/decode_router", fleet_options()) == table);
}

TEST_CASE("every router serves all requests") {
  for (const RouterRow& row : router_rows()) {
    INFO(row.name);
    const std::string fleet =
        R"({"replicas": 3, "router": {"policy": ")" + std::string(row.name) + "\"}}";
    const RunResult result = run(promised(fleet), Catalog::embedded());
    CHECK(result.summary.requests.finished == 400);
    if (row.name == "slo_aware") continue;  // packs
    for (std::size_t i = 0; i < 3; ++i) CHECK(finished(result, i) > 60);
  }
}

TEST_CASE("a router that keeps promises packs as far as they go, or spreads") {
  const auto served = [](const std::string& more) {
    const RunResult result =
        run(promised(R"({"replicas": 3, "router": {"policy": "slo_aware")" + more + "}}"),
            Catalog::embedded());
    CHECK(result.summary.metrics.request_goodput.value() ==
          Approx(result.summary.metrics.request_throughput));
    return std::vector{finished(result, 0), finished(result, 1), finished(result, 2)};
  };
  CHECK(served("") == std::vector<std::int64_t>{400, 0, 0});
  const auto spread = served(R"(, "headroom_selection_strategy": "most")");
  for (const std::int64_t own : spread) CHECK(own > 100);
  // A step alone takes 6 ms and more, so that two requests already break 0.12 x 50 ms ...
  const auto strict = served(R"(, "slo_buffer_factor": 0.12)");
  for (const std::int64_t own : strict) CHECK(own > 100);
}

TEST_CASE("a router that keeps promises needs some") {
  CHECK(error_of(R"({"replicas": 2, "router": {"policy": "slo_aware"}})") ==
        test::value_at("/fleet/router/policy"));
  CHECK(error_of(R"({"groups": [{"name": "a"}, {"name": "b"}],
                     "routes": [{"name": "r", "groups": ["a", "b"], "share": 1,
                                 "policy": "slo_aware"}]})") ==
        test::value_at("/fleet/routes/0/policy"));
  CHECK(error_of(R"({"replicas": 2, "router": {"ttft_weight": 1}})") ==
        test::no_effect_at("/fleet/router/ttft_weight"));
  const auto refused = [](const std::string& fleet) {
    return test::about([&] { return check(promised(fleet), Catalog::embedded()); });
  };
  CHECK(refused(R"({"replicas": 2, "router": {"policy": "slo_aware", "ttft_weight": 0,
                                              "tpot_weight": 0}})") ==
        test::value_at("/fleet/router/ttft_weight"));
  CHECK(refused(R"({"router": {"policy": "slo_aware"}, "disaggregation": {"link_gb_per_s": 50},
                    "groups": [{"name": "p", "role": "prefill", "count": 2},
                               {"name": "d", "role": "decode"}]})") ==
        test::unsupported_at("/fleet/router/policy"));
}

TEST_CASE("a promise beyond all time is none") {
  const std::string slo = R"("slo": {"ttft_ms": 1e13, "tpot_ms": 1e300}, "fleet": )";
  for (const char* fleet :
       {R"({"replicas": 2})", R"({"replicas": 2, "router": {"policy": "slo_aware"}})",
        R"({"replicas": 2, "admission": {"policy": "deadline"}})"}) {
    const std::string text = "{" + kBase + ", " + slo + fleet + "}";
    const RunResult result = run(parse_scenario(parse_json(text, "s.json")), Catalog::embedded());
    CHECK(result.summary.requests.finished == 400);
  }
}

TEST_CASE("weights share the traffic out") {
  const RunResult result = run_fleet(R"({"router": {"policy": "round_robin"}, "groups": [
      {"name": "a", "weight": 3}, {"name": "b"}]})");
  CHECK(finished(result, 0) == 300);
  CHECK(finished(result, 1) == 100);
}

TEST_CASE("admission turns requests away before any replica") {
  const RunResult result =
      run_fleet(R"({"replicas": 2, "admission": {"policy": "max_in_flight", "max_in_flight": 5}})");
  CHECK(result.totals.turned_away > 0);
  CHECK(result.summary.requests.rejected == result.totals.turned_away);
  CHECK(result.summary.requests.finished + result.summary.requests.rejected == 400);
  for (const RequestRecord& record : result.recorder->records()) {
    REQUIRE((record.replica == kNoReplica) == (record.outcome == Outcome::rejected));
  }
  // 40 a second come, 10 a second are let in: all of the first 20, then a quarter.
  const RunResult bucket = run_fleet(R"({"replicas": 2, "admission": {"policy": "token_bucket",
      "rate": 10, "burst": 20}})");
  CHECK(bucket.summary.requests.finished >= 118);
  CHECK(bucket.summary.requests.finished <= 120);
}

TEST_CASE("what a crash catches is lost, or sent again") {
  const std::string crash = R"("crashes": [{"replica": 1, "at_s": 5, "down_s": 2}])";
  const RunResult lost = run_fleet(R"({"replicas": 2, "faults": {)" + crash + "}}");
  CHECK(lost.summary.requests.lost_to_fault > 0);
  CHECK(lost.summary.requests.finished + lost.summary.requests.lost_to_fault == 400);
  CHECK(lost.totals.replicas[1].crashes == 1);
  const RunResult resent =
      run_fleet(R"({"replicas": 2, "faults": {"resend": true, )" + crash + "}}");
  CHECK(resent.summary.requests.finished == 400);
  // Who was still on the way in goes to the other one without having been there.
  CHECK(resent.totals.replicas[1].handed_back > 0);
  CHECK(resent.totals.replicas[1].handed_back <= lost.summary.requests.lost_to_fault);
  CHECK(resent.totals.replicas[1].discarded_tokens > 0);
}

TEST_CASE("where nobody else is up, who comes to an engine that died is lost") {
  const RunResult both = run_fleet(R"({"replicas": 2, "faults": {"resend": true, "crashes": [
      {"replica": 0, "at_s": 5, "down_s": 2}, {"replica": 1, "at_s": 5, "down_s": 2}]}})");
  CHECK(both.stop == StopReason::drained);
  CHECK(both.summary.requests.lost_to_fault > 0);
  CHECK(both.summary.requests.finished + both.summary.requests.lost_to_fault == 400);
}

TEST_CASE("a slow replica is slower for so long, and a router that looks spares it") {
  const std::string slow = R"("faults": {"slow": [{"replica": 0, "at_s": 0, "for_s": 100,
      "factor": 4}]}})";
  const RunResult turns =
      run_fleet(R"({"replicas": 2, "router": {"policy": "round_robin"}, )" + slow);
  CHECK(finished(turns, 0) == 200);
  const RunResult looks = run_fleet(R"({"replicas": 2, )" + slow);
  CHECK(finished(looks, 0) < 130);
  CHECK(looks.summary.metrics.mean_e2el_ms < turns.summary.metrics.mean_e2el_ms);
}

TEST_CASE("errors of a fleet name the place and what is allowed") {
  CHECK(error_of(R"({"replicas": 0})") == test::value_at("/fleet/replicas"));
  CHECK(error_of(R"({"replica": 2})") == test::unknown_at("/fleet/replica"));
  CHECK(error_of(R"({"groups": {}})") == test::value_at("/fleet/groups"));
  CHECK(error_of(R"({"groups": [{"count": 2}]})") == test::missing_at("/fleet/groups/0"));
  CHECK(error_of(R"({"groups": [{"name": "a", "devise": "l4"}]})") ==
        test::unknown_at("/fleet/groups/0/devise"));
  const test::About misspelt =
      error_of(R"({"groups": [{"name": "a", "engine": {"max_num_seq": 4}}]})");
  CHECK(misspelt == test::unknown_at("/fleet/groups/0/engine/max_num_seq"));
  CHECK(misspelt.complaint.nearest == "max_num_seqs");
  CHECK(error_of(R"({"groups": [{"name": "a"}, {"name": "a"}]})") ==
        test::conflict_at("/fleet/groups/1/name"));
  CHECK(error_of(R"({"replicas": 2, "groups": [{"name": "a"}]})") ==
        test::conflict_at("/fleet/replicas"));
  const test::About in_group = error_of(R"({"groups": [{"name": "a", "device": "l5"}]})");
  CHECK(in_group == test::unknown_at("/device/name"));
  CHECK(in_group.complaint.origin == "s.json: /fleet/groups/0");
}

TEST_CASE("an option of a fleet without effect is refused") {
  // A router may choose among one: studies vary the number of replicas.
  CHECK(error_of(R"({"router": {"policy": "random"}})") == test::no_error());
  CHECK(error_of(R"({"replicas": 2, "router": {"policy": "random", "kv_weight": 2}})") ==
        test::no_effect_at("/fleet/router/kv_weight"));
  CHECK(error_of(R"({"groups": [{"name": "a", "weight": 2}, {"name": "b"}]})") ==
        test::no_effect_at("/fleet/groups/0/weight"));
  CHECK(error_of(R"({"replicas": 2, "faults": {"resend": true}})") ==
        test::no_effect_at("/fleet/faults/resend"));
  CHECK(error_of(R"({"admission": {"policy": "max_in_flight"}})") ==
        test::missing_at("/fleet/admission/max_in_flight"));
  CHECK(error_of(R"({"admission": {"policy": "deadline"}})") == test::missing_at("/slo/ttft_ms"));
  CHECK(error_of(R"({"replicas": 2, "faults": {"crashes": [{"replica": 2, "at_s": 1}]}})") ==
        test::value_at("/fleet/faults/crashes/0/replica"));
  CHECK(error_of(R"({"replicas": 2, "faults": {"slow": [
            {"replica": 1, "at_s": 1, "for_s": 5, "factor": 2},
            {"replica": 1, "at_s": 3, "for_s": 5, "factor": 2}]}})") ==
        test::conflict_at("/fleet/faults/slow/1/at_s"));
  CHECK(error_of(R"({"groups": [{"name": "a", "engine": {"api_server_count": 1}},
                                {"name": "b"}]})") == test::conflict_at("/fleet/groups"));
}

TEST_CASE("groups have the seed and the directory that their scenario was given after reading") {
  Scenario scenario = parsed(R"({"groups": [{"name": "a"}, {"name": "b"}],
                                 "router": {"policy": "random"}})");
  const auto served_by_first = [&](std::int64_t seed) {
    scenario.seed = seed;
    return finished(run(scenario, Catalog::embedded()), 0);
  };
  CHECK(served_by_first(1) == served_by_first(1));
  CHECK(served_by_first(1) != served_by_first(2));
  scenario.seed = 2;
  scenario.directory = "/elsewhere";
  const RunResult moved = run(scenario, Catalog::embedded());
  CHECK(moved.resolved.scenario.directory == "/elsewhere");
  CHECK(moved.resolved.scenario.seed == 2);
}

}  // namespace headroom::fleet_test
