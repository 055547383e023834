// Clients that try again: from the options of a scenario to the counts of its results.

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "sim/resolve/resolve.hpp"
#include "sim/resolve/run.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"

namespace headroom::retries_test {

namespace {

const std::string kLengths = R"("prompt": {"tokens": 64}, "output": {"tokens": 8})";
const std::string kPatience = R"("patience": {"answer": {"mean_s": 1e-6}}, )";

Scenario parsed(const std::string& workload) {
  const std::string text =
      R"({"model": "llama-3.1-8b", "device": "h100-sxm", "engine": "vllm", "workload": )" +
      workload + "}";
  return parse_scenario(parse_json(text, "s.json"));
}

// Of ten requests, with what else is said of them.
std::string ten(const std::string& rest, const std::string& retries) {
  return R"({"arrivals": {"process": "constant", "request_rate": 10}, "num_requests": 10, )" +
         rest + kLengths + R"(, "retries": )" + retries + "}";
}

test::About error_of(const std::string& workload) {
  return test::about([&] { validate(parsed(workload)); });
}

RunResult run_workload(const std::string& workload) {
  return run(parsed(workload), Catalog::embedded());
}

std::int64_t count_of(const RunResult& result, std::string_view name) {
  for (const WorkloadEcho& echo : result.workload.counts) {
    if (echo.name == name) return std::get<std::int64_t>(echo.value);
  }
  return 0;
}

}  // namespace

TEST_CASE("clients that try again say how often and when") {
  CHECK(error_of(ten("", R"({"max_attempts": 3, "delay_s": 0.5, "backoff": "exponential",
                             "jitter": 0.25, "on": {"rejected": true}})")) == test::no_error());
  CHECK(error_of(ten("", R"({"max_attempts": 2, "delay_s": 0})")) == test::no_error());
  CHECK(error_of(ten("", R"({"max_attempts": 1})")) == test::no_error());
  CHECK(error_of(ten("", R"({"delay_s": 1})")) ==
        test::missing_at("/workload/retries/max_attempts"));
  CHECK(error_of(ten("", R"({"max_attempts": 2})")) ==
        test::missing_at("/workload/retries/delay_s"));
}

TEST_CASE("values of retries have their ranges") {
  CHECK(error_of(ten("", R"({"max_attempts": 0})")) ==
        test::value_at("/workload/retries/max_attempts"));
  CHECK(error_of(ten("", R"({"max_attempts": 2, "delay_s": -1})")) ==
        test::value_at("/workload/retries/delay_s"));
  CHECK(error_of(ten("", R"({"max_attempts": 2, "delay_s": 1, "jitter": 2})")) ==
        test::value_at("/workload/retries/jitter"));
  CHECK(error_of(ten("", R"({"max_attempts": 2, "delay_s": 1, "on": {"oom": true}})")) ==
        test::unknown_at("/workload/retries/on/oom"));
}

TEST_CASE("an option of retries without effect is refused") {
  CHECK(error_of(ten("", R"({"max_attempts": 1, "delay_s": 1})")) ==
        test::no_effect_at("/workload/retries/delay_s"));
  CHECK(error_of(ten("", R"({"max_attempts": 1, "on": {"rejected": true}})")) ==
        test::no_effect_at("/workload/retries/on/rejected"));
  CHECK(error_of(ten("", R"({"max_attempts": 2, "delay_s": 0, "jitter": 0.5})")) ==
        test::no_effect_at("/workload/retries/jitter"));
  const std::string impatient = R"({"max_attempts": 2, "delay_s": 1, "on": {"cancelled": true}})";
  CHECK(error_of(ten("", impatient)) == test::no_effect_at("/workload/retries/on/cancelled"));
  CHECK(error_of(ten(kPatience, impatient)) == test::no_error());
  // Nobody gives up here, and the loss of an engine is left out.
  const std::string none = R"({"max_attempts": 2, "delay_s": 1, "on": {"lost_to_oom": false}})";
  CHECK(error_of(ten("", none)) == test::no_effect_at("/workload/retries/on"));
  CHECK(error_of(ten(kPatience, none)) == test::no_error());
}

TEST_CASE("clients of all classes try again alike") {
  const std::string retries = R"("retries": {"max_attempts": 2, "delay_s": 1,
                                             "on": {"cancelled": true}})";
  const auto classes = [](const std::string& of_all, const std::string& of_class) {
    return R"({"arrivals": {"request_rate": 1}, "num_requests": 3, )" + of_all +
           R"("classes": [{"name": "a", )" + of_class + kLengths + "}]}";
  };
  CHECK(error_of(classes(retries + ", ", kPatience)) == test::no_error());
  CHECK(error_of(classes("", kPatience + retries + ", ")) ==
        test::conflict_at("/workload/classes/0/retries"));
}

TEST_CASE("a run counts requests that were sent again, and those given up") {
  // No answer of 8 tokens comes within a microsecond: each of ten requests is sent three times.
  const RunResult result =
      run_workload(ten(kPatience, R"({"max_attempts": 3, "delay_s": 0.5, "jitter": 0.25})"));
  CHECK(result.stop == StopReason::drained);
  CHECK(result.summary.requests.arrived == 30);
  CHECK(result.summary.requests.cancelled == 30);
  CHECK(result.workload.requests == 10);
  CHECK(count_of(result, "requests_sent_again") == 20);
  CHECK(count_of(result, "requests_sent_again_after_cancellation") == 20);
  CHECK(count_of(result, "requests_sent_again_after_oom") == 0);
  CHECK(count_of(result, "requests_given_up_after_last_attempt") == 10);
}

TEST_CASE("requests that are too long are sent again only if asked for") {
  const std::string long_ones =
      R"({"arrivals": {"process": "all_at_once"}, "num_requests": 4, "prompt": {"tokens": 200000},
          "output": {"tokens": 8}, "retries": {"max_attempts": 3, "delay_s": 0, "on": )";
  // max_model_len of the model is 131,072.
  const RunResult kept = run_workload(long_ones + R"({"rejected": false}}})");
  CHECK(kept.summary.requests.rejected == 4);
  CHECK(kept.workload.counts.empty());
  const RunResult asked = run_workload(long_ones + R"({"rejected": true}}})");
  CHECK(asked.summary.requests.rejected == 12);
  CHECK(count_of(asked, "requests_sent_again_after_rejection") == 8);
  CHECK(count_of(asked, "requests_given_up_after_last_attempt") == 4);
}

TEST_CASE("a workload of unknown size counts each request once") {
  // A request every 0.1 s from 0.1 s on, for 1 s: 9.
  const RunResult result = run_workload(
      R"({"arrivals": {"process": "constant", "request_rate": 10}, "duration_s": 1, )" + kPatience +
      kLengths + R"(, "retries": {"max_attempts": 2, "delay_s": 1}})");
  CHECK(result.workload.requests == 9);
  CHECK(result.summary.requests.arrived == 18);
}

TEST_CASE("retries that nobody needs change nothing") {
  const std::string plain = R"({"arrivals": {"request_rate": 10}, "num_requests": 50, )" + kLengths;
  const RunResult without = run_workload(plain + "}");
  const RunResult with = run_workload(plain + R"(, "retries": {"max_attempts": 3, "delay_s": 1}})");
  CHECK(with.digest == without.digest);
  CHECK(with.workload.counts.empty());
}

}  // namespace headroom::retries_test
