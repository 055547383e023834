// Dumps of vLLM's /metrics: sim/intake/from.hpp. Metric names: ENGINES.md 7.2.

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>

#include "sim/intake/from.hpp"
#include "sim/intake/length_histogram.hpp"
#include "sim/intake/prometheus_text.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::from_metrics_test {
using Catch::Contains;

namespace {

using Sorted = nlohmann::json;  // compares objects whatever the order of their keys

Sorted sorted(const Json& json) { return Sorted::parse(json.dump()); }

constexpr std::string_view kLabels = "engine=\"0\",model_name=\"Qwen/Qwen3-0.6B\"";

// Prompts: `short_ones` of up to 100 tokens and `long_ones` of 100 to 200, `sum` tokens in all.
std::string dump_of(int short_ones, int long_ones, int sum, const std::string& extra = "") {
  const std::string labels(kLabels);
  const std::string all = std::to_string(short_ones + long_ones);
  const std::string bucket = "vllm:request_prompt_tokens_bucket{" + labels + ",le=";
  return "# HELP x a text\n"
         "process_start_time_seconds 1000.0\n"
         "vllm:cache_config_info{block_size=\"16\",cache_dtype=\"auto\","
         "enable_prefix_caching=\"True\",gpu_memory_utilization=\"0.85\","
         "num_gpu_blocks=\"2340\",num_gpu_blocks_override=\"None\"} 1.0\n" +
         bucket + "\"100.0\"} " + std::to_string(short_ones) + "\n" + bucket + "\"200.0\"} " + all +
         "\n" + bucket + "\"+Inf\"} " + all + "\n" + "vllm:request_prompt_tokens_count{" + labels +
         "} " + all + "\n" + "vllm:request_prompt_tokens_sum{" + labels + "} " +
         std::to_string(sum) + "\n" + "vllm:request_generation_tokens_count{" + labels + "} " +
         all + "\n" + "vllm:request_generation_tokens_sum{" + labels + "} " + all + "00\n" + extra;
}

FromResult metrics(const std::string& text, const MetricsTimes& times = {}) {
  std::istringstream stream(text);
  return scenario_from_metrics(stream, "dump", times);
}

bool any_contains(const std::vector<std::string>& list, std::string_view part) {
  return std::ranges::any_of(
      list, [part](const std::string& text) { return text.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("a dump gives the pool, the cache options, the model and the traffic") {
  const FromResult result =
      metrics(dump_of(10, 26, 4500), {.taken_unix_s = 4600.0, .earlier_unix_s = std::nullopt});
  CHECK(result.engine == "vllm");
  // Lengths at the share f of their buckets: 10 f 100 + 26 (100 + f 100) = 4500, f = 1900/3600:
  // 52.8 and 152.8 tokens. Rate: 36 requests in 4600 - 1000 s.
  CHECK(sorted(result.scenario) == Sorted::parse(R"({
    "model": "Qwen/Qwen3-0.6B",
    "engine": {"name": "vllm", "gpu_memory_utilization": 0.85, "kv_cache_dtype": "auto",
      "block_size": 16, "enable_prefix_caching": true, "num_gpu_blocks_override": 2340},
    "workload": {
      "prompt": {"law": "empirical", "values": [53, 153], "weights": [10, 26]},
      "output": {"law": "fixed", "tokens": 100},
      "num_requests": 36,
      "arrivals": {"process": "poisson", "request_rate": 0.01}}})"));
  CHECK(any_contains(result.notes, "at 53 % of its width"));
  CHECK(any_contains(result.notes, "including idle time"));
}

TEST_CASE("without the time of the dump there is no rate, and the user is told") {
  const FromResult result = metrics(dump_of(10, 26, 4500));
  CHECK_FALSE(result.scenario.at("workload").contains("arrivals"));
  CHECK(any_contains(result.notes, "set workload.arrivals.request_rate"));
}

TEST_CASE("a sample's own timestamp is the time of the dump") {
  const FromResult result = metrics(dump_of(10, 26, 4500, "up 1 2800000\n"));
  CHECK(result.scenario.at("workload").at("arrivals").at("request_rate") == 0.02);  // 36 / 1800 s
}

TEST_CASE("two dumps give the traffic in between") {
  std::istringstream earlier(dump_of(10, 26, 4500));
  std::istringstream later(dump_of(10, 46, 7500));
  const FromResult result = scenario_from_metrics(
      earlier, later, "dump", {.taken_unix_s = 5000.0, .earlier_unix_s = 4990.0});
  // 20 more prompts, all in the second bucket, 3,000 tokens: 150 each; 20 in 10 s.
  CHECK(sorted(result.scenario.at("workload").at("prompt")) ==
        Sorted::parse(R"({"law": "empirical", "values": [150], "weights": [20]})"));
  CHECK(result.scenario.at("workload").at("num_requests") == 20);
  CHECK(result.scenario.at("workload").at("arrivals").at("request_rate") == 2.0);
}

TEST_CASE("two dumps in the wrong order, or of two processes, are refused") {
  const auto both = [](const std::string& first, const std::string& second) {
    std::istringstream earlier(first);
    std::istringstream later(second);
    return scenario_from_metrics(earlier, later, "dump");
  };
  CHECK_THROWS_WITH(both(dump_of(9, 9, 999), dump_of(1, 1, 99)),
                    Contains("fewer requests than the earlier"));
  std::string restarted = dump_of(9, 9, 999);
  restarted.replace(restarted.find("1000.0"), 6, "2000.0");
  CHECK_THROWS_WITH(both(dump_of(1, 1, 99), restarted), Contains("the process restarted"));
}

TEST_CASE("a histogram's last bucket ends at 2.5 times the bound below it") {
  // 4 prompts above 1000 with 7,000 tokens: f = (7000 - 4000) / (4 x 1500) = 0.5: 1750 each.
  std::istringstream text(
      "x_bucket{le=\"1000\"} 0\nx_bucket{le=\"+Inf\"} 4\nx_count 4\nx_sum 7000\n");
  const auto histogram = length_histogram(read_prometheus(text, "dump"), "x");
  REQUIRE(histogram.has_value());
  CHECK(sorted(length_section(*histogram).section) ==
        Sorted::parse(R"({"law": "empirical", "values": [1750], "weights": [4]})"));
}

TEST_CASE("preemptions and prefix hits in a dump are told, several engines are data parallel") {
  const FromResult result =
      metrics(dump_of(1, 1, 200,
                      "vllm:num_preemptions_total{engine=\"1\"} 7\n"
                      "vllm:prefix_cache_queries_total 200\nvllm:prefix_cache_hits_total 50\n"));
  CHECK(any_contains(result.notes, "7 preemptions so far"));
  CHECK(any_contains(result.notes, "25.0 % of prompt tokens hit the prefix cache"));
  CHECK(result.scenario.at("engine").at("data_parallel_size") == 2);
}

TEST_CASE("a dump before the first request has no workload") {
  const FromResult result = metrics("vllm:num_requests_running{model_name=\"m\"} 0\n");
  CHECK_FALSE(result.scenario.contains("workload"));
  CHECK(any_contains(result.notes, "no request has finished"));
  CHECK(any_contains(result.notes, "no num_gpu_blocks"));
}

TEST_CASE(
    "labels keep commas, braces and escaped quotes, and other text is refused with its line") {
  std::istringstream text("a{b=\"c,d}\\\"e\\\\\",f=\"\"} +Inf 12 # {x=\"y\"} 1\nbare 3\n");
  const MetricsDump dump = read_prometheus(text, "dump");
  CHECK(dump.label("a", "b") == "c,d}\"e\\");
  CHECK(dump.total("bare") == 3.0);
  CHECK(dump.taken_unix_s == 0.012);
  CHECK_THROWS_WITH(metrics("up 1\n<html>\n"),
                    "dump:2: not a line of a /metrics dump (name{labels} value), after 1 samples");
  CHECK_THROWS_AS(metrics(""), DataError);
  CHECK_THROWS_WITH(metrics("tgi_queue_size 3\n"), Contains("a dump from another engine"));
  CHECK_THROWS_WITH(metrics("up 1\n"), Contains("none of vLLM's metrics"));
}

TEST_CASE("counts that no server can have are refused with their line") {
  const std::string dump = dump_of(10, 26, 4500);
  CHECK_THROWS_WITH(
      metrics(dump + dump),
      Contains("dump:13: vllm:cache_config_info with the same labels is also in line 3") &&
          Contains("expected one scrape of /metrics per file"));
  for (const std::string value : {"NaN", "+Inf", "-3", "1e308"}) {
    CAPTURE(value);
    CHECK_THROWS_WITH(
        metrics(dump + "vllm:generation_tokens_total{engine=\"0\"} " + value + "\n"),
        Contains(":11: vllm:generation_tokens_total is ") && Contains("expected 0 to 1e+15"));
  }
  CHECK_THROWS_WITH(metrics(dump_of(10, -4, 4500)),
                    "dump: vllm:request_prompt_tokens_bucket falls from 10 to 6 at le=\"200\"; "
                    "expected cumulative buckets");
}

TEST_CASE("buckets of another number of requests than the count are refused") {
  std::string dump = dump_of(10, 26, 4500);
  const std::string count = "vllm:request_prompt_tokens_count{" + std::string(kLabels) + "} 36";
  dump.replace(dump.find(count), count.size(), count.substr(0, count.size() - 2) + "37");
  CHECK_THROWS_WITH(metrics(dump),
                    "dump: vllm:request_prompt_tokens_count is 37, expected 36 as in its last "
                    "bucket");
}

TEST_CASE("a dump takes the release that the user names") {
  std::istringstream stream(dump_of(10, 26, 4500));
  const FromResult result = scenario_from_metrics(stream, "dump", {}, "0.20");
  CHECK(result.scenario.at("engine").at("version") == "0.20");
  CHECK_FALSE(any_contains(result.notes, "the engine's release is not named"));
}

}  // namespace headroom::from_metrics_test
