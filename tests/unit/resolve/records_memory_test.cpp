#include "sim/resolve/records_memory.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"

namespace headroom::records_memory_test {
namespace {

Scenario scenario_with(const std::string& workload, const std::string& rest = "") {
  return parse_scenario(parse_json(
      R"({"model": "llama-3.1-8b", "device": "h100-sxm", "workload": {
          "arrivals": {"process": "poisson", "request_rate": 20},
          "prompt": {"tokens": 64}, "output": {"tokens": 20}, )" +
          workload + "}" + rest + "}",
      "s.json"));
}

}  // namespace

TEST_CASE("records that this machine cannot keep are refused", "[records_memory]") {
  const Scenario many = scenario_with(R"("num_requests": 9000000000000000)");
  constexpr std::int64_t kGib = std::int64_t{1} << 30;
  const test::About refused =
      test::about([&] { check_records_fit(many, 9'000'000'000'000'000, kGib); });
  CHECK(refused == test::value_at("/workload"));
  CHECK_THAT(refused.complaint.problem, Catch::Contains("at most 14913080 requests"));
  CHECK_NOTHROW(check_records_fit(many, 14'913'080, kGib));
  const Scenario streamed =
      scenario_with(R"("num_requests": 9000000000000000)", R"(, "output": {"streaming": true})");
  CHECK_NOTHROW(check_records_fit(streamed, 9'000'000'000'000'000, kGib));
}

TEST_CASE("requests are counted as far as they are known before the run", "[records_memory]") {
  CHECK(least_recorded(scenario_with(R"("num_requests": 1000)"), 1000) == 1000);
  CHECK(least_recorded(scenario_with(R"("duration_s": 100)"), 0) == 2000);
  CHECK(least_recorded(scenario_with(R"("num_sessions": 30)"), 0) == 30);
}

TEST_CASE("a run that ends earlier records fewer requests", "[records_memory]") {
  const std::string requests = R"("num_requests": 1000)";
  CHECK(least_recorded(scenario_with(requests, R"(, "run": {"until_s": 10})"), 1000) == 200);
  CHECK(least_recorded(scenario_with(requests, R"(, "run": {"max_events": 50})"), 1000) == 50);
}

}  // namespace headroom::records_memory_test
