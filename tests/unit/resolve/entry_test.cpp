// What lies between clients and engines where steps are priced by kernels: entry_ms and
// entry_token_us of between_kernels.json, from the file to the results.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "hardware/between_kernels.hpp"
#include "hardware/catalog.hpp"
#include "sim/report/text/calibrate_report.hpp"
#include "sim/resolve/run.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/temp_file.hpp"

namespace headroom::entry_test {

namespace {

// The catalog with 4 ms for each request and 1 us for each token on the way into vLLM.
Catalog catalog_with_entry() {
  Catalog catalog = Catalog::embedded();
  BetweenKernels row = *catalog.between_kernels("vllm");
  row.entry_ns = 4e6;
  row.entry_token_ns = 1e3;
  catalog.overlay_text("between_kernels.json", between_kernels_file({row}), "test");
  return catalog;
}

RunResult result_of(const std::string& engine, const std::string& workload) {
  return run(parse_scenario(parse_json(R"({"model": "llama-3.1-8b", "device": "b200",
    "engine": {"max_model_len": 4096)" + engine +
                                           R"(}, "cost": {"level": "kernels"},
    "workload": {"num_requests": 3, "prompt": {"tokens": 1000}, "output": {"tokens": 3}, )" +
                                           workload + "}}",
                                       "s.json")),
             catalog_with_entry());
}

constexpr const char* kAtOnce = R"("arrivals": {"process": "all_at_once"})";

}  // namespace

TEST_CASE("requests that come together enter the engine together, when their work is nearly done") {
  const RunResult result = result_of("", kAtOnce);
  const auto records = result.recorder->records();
  REQUIRE(records.size() == 3);
  for (const RequestRecord& record : records) {
    CHECK(record.outcome == Outcome::finished);
    CHECK(record.arrival_ns == 0);
    // 5 ms each, in four turns: the first one is done with the tenth of twelve.
    CHECK(record.queued_ns == static_cast<TimeNs>(10 + record.index) * 1'250'000);
  }
  REQUIRE(result.totals.entries.has_value());
  CHECK(backlog_s(*result.totals.entries) == Approx(0.015));
}

TEST_CASE("routers see the requests that are on their way into an engine") {
  // One that lasts, and a second later five at once, of which each engine takes in one.
  const TempFile trace(
      "arrival_ns,prompt_tokens,output_tokens,max_tokens\n0,1000,1000,1000\n"
      "1000000000,1000,3,3\n1000000000,1000,3,3\n1000000000,1000,3,3\n1000000000,1000,3,3\n"
      "1000000000,1000,3,3\n");
  const RunResult result =
      run(parse_scenario(parse_json(R"({"model": "llama-3.1-8b", "device": "b200",
    "engine": {"max_model_len": 4096}, "cost": {"level": "kernels"},
    "fleet": {"replicas": 2, "router": {"policy": "least_outstanding"}},
    "workload": {"trace": {"file": ")" + trace.path() +
                                        R"("}}})",
                                    "s.json")),
          catalog_with_entry());
  const auto records = result.recorder->records();
  REQUIRE(records.size() == 6);
  CHECK(std::ranges::count(records, 0, [](const auto& record) { return record.replica; }) == 3);
}

TEST_CASE("without an API server requests are handed to the engine itself") {
  const RunResult result = result_of(R"(, "api_server_count": 0)", kAtOnce);
  const auto records = result.recorder->records();
  REQUIRE(records.size() == 3);
  CHECK(std::ranges::all_of(records, [](const auto& record) { return record.queued_ns == 0; }));
  CHECK(result.cost.client_latency.request_ns == 0);
  CHECK_FALSE(result.totals.entries.has_value());
}

TEST_CASE("a client that gives up on the way in is cancelled, and nobody is lost") {
  const RunResult result = result_of(
      "", std::string(kAtOnce) + R"(, "patience": {"answer": {"law": "fixed", "mean_s": 0.007}})");
  const auto records = result.recorder->records();
  REQUIRE(records.size() == 3);
  const auto last = std::ranges::find(records, std::uint64_t{2}, &RequestRecord::index);
  REQUIRE(last != records.end());
  CHECK(last->outcome == Outcome::cancelled);
  CHECK(last->queued_ns == -1);
  CHECK(last->finish_ns == 7'000'000);
}

TEST_CASE("what the run's end finds on the way in is unfinished") {
  Scenario scenario = parse_scenario(parse_json(R"({"model": "llama-3.1-8b", "device": "b200",
    "engine": {"max_model_len": 4096}, "cost": {"level": "kernels"}, "run": {"until_s": 0.002},
    "workload": {"num_requests": 3, "prompt": {"tokens": 1000}, "output": {"tokens": 3},
                 "arrivals": {"process": "all_at_once"}}})",
                                                "s.json"));
  const RunResult result = run(scenario, catalog_with_entry());
  const auto records = result.recorder->records();
  REQUIRE(records.size() == 3);
  CHECK(std::ranges::all_of(
      records, [](const RequestRecord& record) { return record.outcome == Outcome::unfinished; }));
  CHECK(result.summary.requests.unfinished == 3);
}

TEST_CASE("requests faster than the way in are a warning") {
  Scenario scenario = parse_scenario(parse_json(R"({"model": "llama-3.1-8b", "device": "b200",
    "engine": {"max_model_len": 4096}, "cost": {"level": "kernels"},
    "workload": {"num_requests": 600, "prompt": {"tokens": 1000}, "output": {"tokens": 3},
                 "arrivals": {"process": "poisson", "request_rate": 400}}})",
                                                "s.json"));
  const RunResult result = run(scenario, catalog_with_entry());
  CHECK(std::ranges::any_of(result.warnings, [](const std::string& warning) {
    return warning.find("client and API process") != std::string::npos;
  }));
}

// Requests of 3,000 tokens by replica, of a burst that finds three replicas busy and one idle.
std::array<int, 4> spread_burst(const std::string& system, const std::string& router) {
  std::string rows = "time_s,in,out\n";
  for (int i = 0; i < 3; ++i) rows += "0,500,1000\n";
  for (int i = 0; i < 8; ++i) rows += "1,3000,3\n";
  const TempFile trace(rows);
  const std::string text = R"({"model": "llama-3.1-8b", "slo": {"ttft_ms": 1000}, )" + system +
                           R"(, "fleet": {"replicas": 4, "router": {"policy": )" + router +
                           R"(}}, "workload": {"trace": {"file": ")" + trace.path() + R"("}}})";
  const RunResult result = run(parse_scenario(parse_json(text, "s.json")), catalog_with_entry());
  std::array<int, 4> taken{};
  for (const RequestRecord& record : result.recorder->records()) {
    if (record.prompt_tokens == 3000) ++taken.at(record.replica);
  }
  return taken;
}

// Routers that count prompts see those of a burst before an engine has them.
TEST_CASE("a burst on its way in is spread by its prompts") {
  const std::string by_kernels =
      R"("device": "b200", "engine": {"max_model_len": 4096}, "cost": {"level": "kernels"})";
  const std::string by_api_server =
      R"("device": "h100-sxm", "engine": {"max_model_len": 4096, "api_server_count": 1})";
  for (const std::string& system : {by_kernels, by_api_server}) {
    for (const std::string router :
         {R"("weighted")", R"("slo_aware", "headroom_selection_strategy": "most")"}) {
      CAPTURE(system, router);
      CHECK(spread_burst(system, router) == std::array{2, 2, 2, 2});
    }
  }
}

}  // namespace headroom::entry_test
