#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/report/json/assert_json.hpp"
#include "sim/report/text/assert_report.hpp"
#include "sim/resolve/run_verdict.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/study/assert/assert_runs.hpp"
#include "sim/study/sweep/run_row.hpp"

namespace headroom::assert_test {
namespace {

const Catalog& catalog() {
  static const Catalog kCatalog = Catalog::embedded();
  return kCatalog;
}

RunResult small_run(double rate) {
  const std::string text =
      R"({"model": "llama-3.1-8b", "device": "h100-sxm", "engine": {"name": "vllm"},
          "workload": {"arrivals": )" +
      std::to_string(rate) + R"(, "num_requests": 300, "prompt": 1500, "output": 100}})";
  return run(load_scenario({parse_json(text, "test"), ""}, "test", {}), catalog());
}

std::vector<CheckedAssertion> checked(const RunResult& run, const std::string& text) {
  return check_assertions(run, parse_assertions({text}));
}

TEST_CASE("assertions are read with every relation and unit", "[assert]") {
  const std::vector<Assertion> all = parse_assertions(
      {"p99_ttft_ms < 800", "p99_tpot<=0.05s", "oom == 0", "rejected!=3", "goodput_share >= 99.5%",
       "kv_tokens > 100k", "kv_pool_bytes >= 40GiB", "duration < 10m", "backlog_slope_per_s < -0.5",
       "mean_ttft=2s, p95_tpot=50ms"});
  REQUIRE(all.size() == 11);
  const auto is = [&all](std::size_t i, const char* metric, Relation relation, double bound) {
    CHECK(all[i].metric == metric);
    CHECK(all[i].relation == relation);
    CHECK(all[i].bound == Approx(bound));
  };
  is(0, "p99_ttft_ms", Relation::less, 800);
  is(1, "p99_tpot_ms", Relation::at_most, 50);
  is(2, "oom_count", Relation::equal, 0);
  is(3, "rejected", Relation::unequal, 3);
  is(4, "goodput_share", Relation::at_least, 0.995);
  is(5, "kv_tokens", Relation::more, 100.0 * 1024);
  is(6, "kv_pool_bytes", Relation::at_least, 40.0 * (1 << 30));
  is(7, "duration", Relation::less, 600);
  is(8, "backlog_slope_per_s", Relation::less, -0.5);
  is(9, "mean_ttft_ms", Relation::at_most, 2000);
  is(10, "p95_tpot_ms", Relation::at_most, 50);
}

TEST_CASE("every metric of a run and every latency can be asserted", "[assert]") {
  for (const std::string& name : metric_names()) {
    CAPTURE(name);
    CHECK(parse_assertions({name + " < 5"}).front().metric == name);
    CHECK_FALSE(unit_of_metric(name).empty());
  }
}

TEST_CASE("wrong assertions are refused, unknown metrics all at once", "[assert]") {
  for (const char* wrong :
       {"p99_ttft_ms", "p99_ttft_ms <", "< 5", "p99_ttft_ms << 5", "p99_ttft_ms < fast",
        "p99_ttft_ms < 5%", "oom = 0", "oom < 1s", "ttft < 2s", "p99_ttft = 0",
        "p99_ttft < 1s, p99_ttft_ms < 2s", "oom == nan"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(parse_assertions({wrong}), ConfigError);
  }
  try {
    (void)parse_assertions({"p99_tfft < 2s", "ooms == 0", "ttft < 1"});
    FAIL("accepted");
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    CHECK(text.find("p99_tfft (nearest: p99_ttft)") != std::string::npos);
    CHECK(text.find("ooms (nearest: oom)") != std::string::npos);
    CHECK(text.find("ttft (say which: p99_ttft") != std::string::npos);
  }
}

TEST_CASE("a limit within the range of measured runs is tight, and holds", "[assert]") {
  const RunResult run = small_run(2);
  const double p99 = run.summary.metrics.p99_ttft_ms;
  const ErrorRange range = latency_range(run.expected_error, LatencyKind::ttft);
  REQUIRE(range.high > 0);
  const auto verdict = [&](double limit) {
    return checked(run, "p99_ttft_ms < " + std::to_string(limit)).front().verdict;
  };
  CHECK(verdict(p99 * (1 + range.high) * 1.01) == AssertionVerdict::holds);
  CHECK(verdict(p99 * (1 + range.high / 2)) == AssertionVerdict::tight);
  CHECK(verdict(p99 * 0.99) == AssertionVerdict::broken);
  // A pool that the engine sizes is known to 10 %; counts are exact.
  const auto tokens = static_cast<double>(run.pool_tokens);
  CHECK(checked(run, "kv_tokens >= " + std::to_string(0.95 * tokens)).front().verdict ==
        AssertionVerdict::tight);
  CHECK(checked(run, "kv_tokens >= " + std::to_string(0.85 * tokens)).front().verdict ==
        AssertionVerdict::holds);
  CHECK(checked(run, "completed == 300").front().verdict == AssertionVerdict::holds);
  CHECK(checked(run, "completed != 300").front().verdict == AssertionVerdict::broken);
}

TEST_CASE("a latency of an overloaded run is missing, which breaks an assertion", "[assert]") {
  const CheckedAssertion one = checked(small_run(500), "p99_ttft < 1h").front();
  CHECK(one.verdict == AssertionVerdict::broken);
  CHECK_FALSE(one.value);
  CHECK(one.why.find("overloaded") != std::string::npos);
  CHECK(checked(small_run(2), "request_goodput > 0").front().why ==
        "the scenario has no targets (slo)");
}

TEST_CASE("answers escape names for XML and Markdown", "[assert]") {
  const Assertion assertion = parse_assertions({"oom < 1"}).front();
  const CheckedScenario scenario{
      "a<b>&\"|\n", "f", "d", 1, {{assertion, AssertionVerdict::holds, 0.0, 0, 0, ""}}};
  const std::string junit = assert_junit({scenario});
  CHECK(junit.find("a&lt;b&gt;&amp;&quot;|\\n") != std::string::npos);
  CHECK(junit.find("name=\"oom &lt; 1\"") != std::string::npos);
  const std::string markdown = assert_markdown({scenario});
  CHECK(markdown.find("| oom &lt; 1 | 0 |") != std::string::npos);
  CHECK(markdown.find("&quot;\\|") != std::string::npos);
  CHECK(assert_text({scenario}).starts_with("HOLDS: 1 assertion\n"));
  CHECK(assert_json({scenario}, "v")["verdict"] == "holds");
}

}  // namespace
}  // namespace headroom::assert_test
