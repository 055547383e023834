#include "sim/report/files/result_files.hpp"
#include "sim/report/json/result_json.hpp"

#include <unistd.h>
#include <catch2/catch.hpp>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "sim/kernel/errors.hpp"
#include "sim/report/files/output_file.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom::result_files_test {
using nlohmann::json;

namespace {

// Two requests at 0: 100 in, 5 out; steps of 10 ms + 0.1 ms per prompt token + 1 ms per decoding
// row.
RunResult two_requests() {
  const std::string text = R"({"name": "two", "model": "llama-3.1-8b", "device": "h100-sxm",
    "engine": {"max_model_len": 4096, "async_scheduling": false},
    "cost": {"level": "affine", "affine": {"step_us": 10000, "prompt_token_us": 100,
                                           "decode_token_us": 1000}},
    "slo": {"ttft_ms": 30},
    "workload": {"arrivals": {"process": "all_at_once"}, "num_requests": 2,
                 "prompt": {"tokens": 100}, "output": {"tokens": 5}}})";
  return run(parse_scenario(parse_json(text, "s.json")), Catalog::embedded());
}

std::string written(void (*write)(const RunResult&, const std::string&), const RunResult& result) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("headroom-table-" + std::to_string(::getpid())))
          .string();
  write(result, path);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  return text.str();
}

}  // namespace

TEST_CASE("requests.csv has a row per request with times in ns") {
  // Prefill of both: 10 + 200 * 0.1 = 30 ms; four decode steps of two rows: 12 ms each.
  CHECK(written(write_requests_csv, two_requests()) ==
        "index,class,replica,arrival_ns,queued_ns,first_scheduled_ns,first_token_ns,finish_ns,"
        "prompt_tokens,output_tokens,max_tokens,preemptions,outcome\n"
        "0,0,0,0,0,0,30000000,78000000,100,5,3996,0,finished\n"
        "1,0,0,0,0,0,30000000,78000000,100,5,3996,0,finished\n");
}

TEST_CASE("summary.json has the benchmark's flat metric names") {
  const json summary = json::parse(summary_json(two_requests(), "1.2.3"));
  const json& metrics = summary["metrics"];
  for (const std::string of : {"ttft", "tpot", "itl", "e2el"}) {
    for (const std::string statistic : {"mean", "median", "std", "p90", "p95", "p99"}) {
      CHECK(metrics[statistic + "_" + of + "_ms"].is_number());
    }
  }
  CHECK(metrics["completed"] == 2);
  CHECK(metrics["total_input_tokens"] == 200);
  CHECK(metrics["total_output_tokens"] == 10);
  CHECK(metrics["median_ttft_ms"] == 30.0);
  CHECK(metrics["mean_tpot_ms"] == 12.0);
  CHECK(metrics["p99_e2el_ms"] == 78.0);
  // Both keep the limit of 30 ms exactly: 2 / 0.078 s.
  CHECK(metrics["request_goodput"].get<double>() == Approx(25.641).epsilon(1e-4));
  CHECK(summary["headroom_version"] == "1.2.3");
  CHECK(summary["workload"]["max_tokens_rule"] ==
        "engine_default: not declared, max_model_len - prompt");
}

TEST_CASE("the budget of summary.json adds up to the capacity") {
  const json summary = json::parse(summary_json(two_requests(), "1"));
  std::int64_t sum = 0;
  for (const auto& [purpose, bytes] : summary["memory"]["budget_bytes"].items()) {
    sum += bytes.get<std::int64_t>();
  }
  CHECK(sum == summary["memory"]["capacity_bytes"].get<std::int64_t>());
  CHECK(summary["memory"]["budget_bytes"]["kv_pool"] == summary["memory"]["kv_pool_bytes"]);
}

TEST_CASE("the engine's time by cost term adds up to its busy time") {
  const json engine = json::parse(summary_json(two_requests(), "1"))["engine"];
  double sum = 0;
  for (const auto& [term, time_s] : engine["time_s"].items()) sum += time_s.get<double>();
  CHECK(sum == Approx(engine["busy_s"].get<double>()));
  CHECK(engine["busy_s"] == 0.078);
  CHECK(engine["steps"] == 5);
}

TEST_CASE("a start-up OOM is one entry with its stage and bytes") {
  const RunResult result = run(load_scenario("llama-70b-does-not-fit", {}), Catalog::embedded());
  const json summary = json::parse(summary_json(result, "1"));
  REQUIRE(summary["oom"].size() == 1);
  CHECK(summary["oom"][0]["kind"] == "startup");
  CHECK(summary["oom"][0]["stage"] == "weights");
  CHECK(summary["oom"][0]["wanted_bytes"] > summary["oom"][0]["free_bytes"]);
  CHECK(summary["requests"]["arrived"] == 0);
  CHECK(written(write_events_jsonl, result).starts_with("{\"time_ns\":0,\"kind\":\"oom\""));
}

TEST_CASE("resolved.json names who set each value") {
  const json resolved = json::parse(resolved_json(two_requests(), "1"));
  CHECK(resolved["values"]["/engine/max_model_len"]["set_by"] == "s.json");
  CHECK(resolved["values"]["/engine/block_size"]["value"] == 16);
  CHECK(resolved["values"]["/engine/block_size"]["set_by"] == "vllm 0.33: by attention kind");
}

TEST_CASE("a write that fails names file and cause") {
  OutputFile file("/dev/full");
  file.write("x");
  CHECK_THROWS_WITH(file.close(), "/dev/full: cannot write: No space left on device");
}

}  // namespace headroom::result_files_test
