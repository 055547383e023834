// /engine/api_server_count and /engine/api_server, from the file to the results.

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/report/files/result_files.hpp"
#include "sim/report/json/result_json.hpp"
#include "sim/resolve/run.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"

namespace headroom::api_server_test {

namespace {

// Two requests of 100 prompt and 3 output tokens at once, steps of 10 ms; no client latency of a
// calibration.
RunResult result_of(const std::string& engine) {
  return run(parse_scenario(parse_json(R"({"model": "llama-3.1-8b", "device": "h100-sxm",
    "engine": {"version": "0.19", "max_model_len": 4096, "async_scheduling": false, )" +
                                           engine + R"(},
    "cost": {"level": "affine", "affine": {"step_us": 10000, "prompt_token_us": 0,
                                           "decode_token_us": 0}},
    "workload": {"arrivals": {"process": "all_at_once"}, "num_requests": 2,
                 "prompt": {"tokens": 100}, "output": {"tokens": 3}}})",
                                       "s.json")),
             Catalog::embedded());
}

test::About error_of(const std::string& engine) {
  return test::about([&] { return result_of(engine); });
}

constexpr const char* kCosts = R"("api_server": {"request_us": 2000, "prompt_token_us": 10,
  "output_token_us": 500, "finish_us": 1000, "network_ms": 1})";

}  // namespace

TEST_CASE("requests, tokens and answers pass the API server") {
  const RunResult result = result_of(R"("api_server_count": 1, )" + std::string(kCosts));
  const auto records = result.recorder->records();
  REQUIRE(records.size() == 2);
  // 3 ms of work each: the engine has them at 3 and 6 ms. The second one waits for the step that
  // ends at 13, and joins the next one.
  CHECK(records[0].queued_ns == 3'000'000);
  CHECK(records[1].queued_ns == 6'000'000);
  // Steps end at 13, 23, 33, 43 with 1, 2, 2, 1 tokens: written .5 ms per token later, and with the
  // client 1 ms after that.
  CHECK(records[0].first_token_ns == 14'500'000);
  CHECK(records[1].first_token_ns == 25'000'000);
  // 1 ms more of work for each answer.
  CHECK(records[0].finish_ns == 36'000'000);
  CHECK(records[1].finish_ns == 45'500'000);
  CHECK(result.cost.client_latency.request_ns == 0);
  REQUIRE(result.totals.api_server.has_value());
  // Both were sent at 0: work of 6 + 3 + 2 ms until 44.5.
  CHECK(utilisation(*result.totals.api_server) == Approx(11 / 44.5));
  REQUIRE(result.warnings.size() == 1);
  CHECK(result.warnings[0].find("p90, p95 and p99 of 2 finished requests are unreliable") == 0);
  CHECK(summary_json(result, "").find(R"("api_server": {)") != std::string::npos);
}

TEST_CASE("without an API server nothing of it is in the results") {
  const RunResult result = result_of(R"("name": "vllm")");
  CHECK_FALSE(result.totals.api_server.has_value());
  CHECK(summary_json(result, "").find("api_server") == std::string::npos);
  CHECK(resolved_json(result, "").find("api_server") == std::string::npos);
}

TEST_CASE("a server that hardly ever idles is a warning") {
  const RunResult result =
      result_of(R"("api_server_count": 1, "api_server": {"output_token_us": 500000})");
  REQUIRE(result.warnings.size() == 2);
  CHECK(result.warnings[1].find("the API server is the bottleneck") == 0);
  // It is no bottleneck because a few requests came together: 0.3 s of work.
  CHECK(result_of(R"("api_server_count": 1, "api_server": {"output_token_us": 50000})")
            .warnings.size() == 1);
}

TEST_CASE("what is left of the calibration's client latency is network") {
  const std::string text = R"({"model": "llama-3.1-8b", "device": "h100-sxm",
    "engine": {"max_model_len": 4096, "api_server_count": 1,
               "api_server": {"prompt_token_us": 0, "output_token_us": 0, "finish_us": 0}},
    "cost": {"level": "calibrated"},
    "workload": {"arrivals": {"process": "all_at_once"}, "num_requests": 1,
                 "prompt": {"tokens": 100}, "output": {"tokens": 3}}})";
  Scenario scenario = parse_scenario(parse_json(text, "s.json"));
  const RunResult with = run(scenario, Catalog::embedded());
  scenario.engine.api_server_count.reset();
  for (const char* name : {"prompt_token_us", "output_token_us", "finish_us"}) {
    scenario.given.erase(std::string("/engine/api_server/") + name);
  }
  const RunResult without = run(scenario, Catalog::embedded());
  CHECK(without.cost.client_latency.request_ns >
        3'000'000);  // of which 3 ms are the request's work
  CHECK(with.summary.metrics.mean_ttft_ms == Approx(without.summary.metrics.mean_ttft_ms));
}

TEST_CASE("answers of one prompt are one request to the API server") {
  // 2 ms and 10 us for each of 100 tokens, once for a prompt of two answers: both are queued at 3
  // ms, those of the second prompt at 6.
  const RunResult result = run(parse_scenario(parse_json(R"({"model": "llama-3.1-8b",
    "device": "h100-sxm", "engine": {"max_model_len": 4096, "api_server_count": 1,
      "api_server": {"request_us": 2000, "prompt_token_us": 10}},
    "workload": {"arrivals": {"process": "all_at_once"}, "num_requests": 2, "n": 2,
                 "prompt": {"tokens": 100}, "output": {"tokens": 3}}})",
                                                         "s.json")),
                               Catalog::embedded());
  std::vector<TimeNs> queued;
  for (const RequestRecord& record : result.recorder->records()) queued.push_back(record.queued_ns);
  std::ranges::sort(queued);
  CHECK(queued == std::vector<TimeNs>{3'000'000, 3'000'000, 6'000'000, 6'000'000});
}

TEST_CASE("a beam search has no API server") {
  const Scenario scenario = parse_scenario(parse_json(R"({"model": "llama-3.1-8b",
    "device": "h100-sxm", "engine": {"max_model_len": 4096, "api_server_count": 1},
    "workload": {"arrivals": {"process": "all_at_once"}, "num_requests": 2, "beam_width": 2,
                 "prompt": {"tokens": 100}, "output": {"tokens": 3}}})",
                                                      "s.json"));
  CHECK(test::about([&] { return run(scenario, Catalog::embedded()); }) ==
        test::conflict_at("/workload/beam_width"));
}

TEST_CASE("a server that is months behind is refused by its options") {
  // 200 prompt tokens, 1000 s each.
  CHECK(error_of(R"("api_server_count": 1, "api_server": {"prompt_token_us": 1e9})") ==
        test::no_error());
  // 2e6 tokens of 1000 s are 2e9 s; 2^52 ns are 4.5e6.
  const Scenario behind = parse_scenario(parse_json(R"({"model": "llama-3.1-8b",
    "device": "h100-sxm", "engine": {"max_model_len": 4096, "api_server_count": 1,
      "api_server": {"prompt_token_us": 1e9}},
    "workload": {"arrivals": {"process": "all_at_once"}, "num_requests": 1000,
                 "prompt": {"tokens": 2000}, "output": {"tokens": 3}}})",
                                                    "s.json"));
  CHECK(test::about([&] { return run(behind, Catalog::embedded()); }) ==
        test::value_at("/engine/api_server"));
}

TEST_CASE("work without an API server is refused, and a server without streams") {
  CHECK(error_of(kCosts) == test::no_effect_at("/engine/api_server/finish_us"));
  CHECK(test::about([] {
          return parse_scenario(
              parse_json(R"({"engine": {"name": "static", "api_server_count": 1}})", "s.json"));
        }) == test::no_effect_at("/engine/api_server_count"));
  CHECK(error_of(R"("api_server_count": 0, "api_server": {"finish_us": 1})") ==
        test::no_effect_at("/engine/api_server/finish_us"));
  CHECK(error_of(R"("api_server_count": -1)") == test::value_at("/engine/api_server_count"));
}

}  // namespace headroom::api_server_test
