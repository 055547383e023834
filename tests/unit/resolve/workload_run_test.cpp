// Workloads from their sections to their results.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>

#include "sim/resolve/run.hpp"
#include "sim/scenario/options.hpp"

namespace headroom::workload_run_test {

namespace {

RunResult run_workload(const std::string& workload, const std::string& engine = R"("vllm")") {
  const std::string text = R"({"model": "llama-3.1-8b", "device": "h100-sxm", "engine": )" +
                           engine + R"(, "workload": )" + workload + "}";
  return run(parse_scenario(parse_json(text, "s.json")), Catalog::embedded());
}

bool warns(const RunResult& result, std::string_view text) {
  return std::ranges::any_of(result.warnings, [&](const std::string& warning) {
    return warning.find(text) != std::string::npos;
  });
}

std::int64_t count_of(const RunResult& result, std::string_view name) {
  for (const WorkloadEcho& echo : result.workload.counts) {
    if (echo.name == name) return std::get<std::int64_t>(echo.value);
  }
  return 0;
}

const std::string kSmall = R"("prompt": {"tokens": 64}, "output": {"tokens": 8})";

}  // namespace

TEST_CASE("classes have their own requests, limits and results") {
  const RunResult result = run_workload(R"({
    "arrivals": {"request_rate": 50}, "num_requests": 400,
    "max_tokens": {"rule": "value", "value": 100},
    "classes": [
      {"name": "chat", "share": 3, "slo": {"ttft_ms": 0.001}, )" +
                                        kSmall + R"(},
      {"name": "batch", "prompt": {"tokens": 1000}, "output": {"tokens": 20},
       "max_tokens": {"rule": "value", "value": 5}}]})");
  REQUIRE(result.summary.classes.size() == 2);
  const ClassSummary& chat = result.summary.classes[0];
  const ClassSummary& batch = result.summary.classes[1];
  CHECK(result.workload.classes == std::vector<std::string>{"chat", "batch"});
  CHECK(chat.requests.arrived + batch.requests.arrived == 400);
  // 300 expected of a share of 3 to 1; standard deviation sqrt(400 * 3/16) = 8.7.
  CHECK(std::abs(static_cast<double>(chat.requests.arrived) - 300.0) < 4 * 8.7);
  CHECK(chat.metrics.total_output_tokens == 8 * chat.requests.finished);    // rule of all
  CHECK(batch.metrics.total_output_tokens == 5 * batch.requests.finished);  // its own
  CHECK(chat.metrics.request_goodput == 0.0);  // nobody answers within a microsecond
  CHECK_FALSE(batch.metrics.request_goodput.has_value());
}

TEST_CASE("a class with arrivals of its own joins those that share theirs") {
  const RunResult result = run_workload(R"({
    "arrivals": {"request_rate": 50}, "num_requests": 100,
    "classes": [
      {"name": "chat", )" + kSmall + R"(},
      {"name": "users", "closed_loop": {"users": 3}, "num_requests": 30, )" +
                                        kSmall + R"(}]})");
  REQUIRE(result.summary.classes.size() == 2);
  CHECK(result.summary.classes[0].requests.finished == 100);
  CHECK(result.summary.classes[1].requests.finished == 30);
}

TEST_CASE("an overloaded engine that reserves undeclared answers says so") {
  const auto overloaded = [](const std::string& engine, const std::string& rule) {
    return run_workload(R"({"arrivals": {"request_rate": 20}, "num_requests": 400,
      "prompt": {"tokens": 500}, "output": {"tokens": 200})" +
                            rule + "}",
                        engine);
  };
  // A pool of about 440,000 tokens holds three answers of up to 131,072.
  const RunResult open = overloaded(R"("trtllm")", "");
  REQUIRE_FALSE(open.summary.windows.stationarity.stationary);
  CHECK(warns(open, "requests declare no max_tokens"));
  CHECK(warns(open, "about 3 run at once"));
  const std::string declared = R"(, "max_tokens": {"rule": "times_output", "times_output": 2})";
  CHECK_FALSE(warns(overloaded(R"("trtllm")", declared), "requests declare no max_tokens"));
  // This one reserves nothing.
  const std::string few_seats = R"({"name": "vllm", "max_num_seqs": 2})";
  const RunResult unreserved = overloaded(few_seats, "");
  REQUIRE_FALSE(unreserved.summary.windows.stationarity.stationary);
  CHECK_FALSE(warns(unreserved, "requests declare no max_tokens"));
}

TEST_CASE("clients that wait for nothing are cancelled, and accounted for") {
  const RunResult result = run_workload(
      R"({"arrivals": {"request_rate": 20}, "num_requests": 200,
          "patience": {"answer": {"mean_s": 0.02}}, )" +
      kSmall + "}");
  const RequestCounts& counts = result.summary.requests;
  CHECK(counts.cancelled > 150);
  CHECK(counts.arrived == counts.finished + counts.cancelled);
  CHECK(result.summary.engine.tokens_out > 0);
}

TEST_CASE("a run says which part of its workload it did not use") {
  CHECK(
      warns(run_workload(R"({"arrivals": {"request_rate": 5}, "num_requests": 3, "priority": 1, )" +
                         kSmall + "}"),
            "priorities are not used"));
  const std::string shared = R"({"arrivals": {"request_rate": 5}, "num_requests": 3,
                                "system_prompts": {"count": 2, "tokens": {"tokens": 9}}, )" +
                             kSmall + "}";
  CHECK_FALSE(warns(run_workload(shared), "prompts of different requests share prefixes"));
  CHECK(warns(run_workload(shared, R"({"name": "vllm", "enable_prefix_caching": false})"),
              "prompts of different requests share prefixes"));
  CHECK_FALSE(
      warns(run_workload(R"({"arrivals": {"request_rate": 5}, "num_requests": 3, )" + kSmall + "}"),
            "prompts of different"));
}

TEST_CASE("sessions that all start at once have all their turns") {
  const RunResult result = run_workload(
      R"({"arrivals": {"process": "all_at_once"}, "num_sessions": 5,
          "sessions": {"turns": {"tokens": 3}, "think_time": {"mean_s": 1}}, )" +
      kSmall + "}");
  CHECK(result.summary.requests.finished == 15);
}

TEST_CASE("a duration ends the arrivals, and a session's later turns") {
  // 10 s of one request a second: 10 sessions, the one at 10 s is not sent. Turns come 8 s after
  // answers, so those of the sessions from 2 s on are never sent.
  const RunResult result = run_workload(
      R"({"arrivals": {"process": "constant", "request_rate": 1}, "duration_s": 10,
          "sessions": {"turns": {"tokens": 2}, "think_time": {"mean_s": 8}}, )" +
      kSmall + "}");
  CHECK(count_of(result, "sessions") == 9);
  CHECK(count_of(result, "sessions_ended_by_limit") == 8);
  CHECK(result.summary.requests.finished == 10);
}

}  // namespace headroom::workload_run_test
