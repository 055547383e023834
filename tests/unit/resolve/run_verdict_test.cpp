#include "sim/resolve/run_verdict.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/scenario/scenario_file.hpp"

namespace headroom::run_verdict_test {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

const Catalog& catalog() {
  static const Catalog kCatalog = Catalog::embedded();
  return kCatalog;
}

RunVerdict verdict_of(const std::string& scenario, std::vector<std::string> set = {}) {
  ScenarioFlags flags;
  flags.set = std::move(set);
  return judge_run(run(load_scenario(scenario, flags), catalog()), catalog());
}

const std::vector<std::string> kShort{"workload.num_requests=600"};

std::vector<std::string> with(std::vector<std::string> more) {
  more.insert(more.begin(), kShort.begin(), kShort.end());
  return more;
}

}  // namespace

TEST_CASE("a run says whether its targets are kept", "[verdict]") {
  const RunVerdict kept = verdict_of("demo", with({"slo.ttft_ms=20000", "slo.tpot_ms=500"}));
  CHECK(kept.verdict == HoldVerdict::holds);
  CHECK(kept.reason == "100.0 % of requests keep TTFT 20.00 s and TPOT 500 ms");
  CHECK(kept.binds == Binds::nothing);
  const RunVerdict missed = verdict_of("demo", with({"slo.tpot_ms=8"}));
  CHECK(missed.verdict == HoldVerdict::does_not_hold);
  CHECK(missed.binds == Binds::decode);
}

TEST_CASE("a target within the known error is tight", "[verdict]") {
  ScenarioFlags flags;
  flags.set = kShort;
  const RunResult result = run(load_scenario("demo", flags), catalog());
  const double p99 = result.summary.metrics.p99_ttft_ms;
  const double high = latency_range(result.expected_error, LatencyKind::ttft).high;
  REQUIRE(high > 0.05);
  // Between what was simulated and the highest that measured runs were.
  const std::string between = std::to_string(p99 * (1 + high / 2));
  CHECK(verdict_of("demo", with({"slo.ttft_ms=" + between})).verdict == HoldVerdict::tight);
  const std::string beyond = std::to_string(p99 * (1 + 2 * high));
  CHECK(verdict_of("demo", with({"slo.ttft_ms=" + beyond})).verdict == HoldVerdict::holds);
}

TEST_CASE("a limit on all requests is kept by the latency itself, as in a plan", "[verdict]") {
  const std::vector<std::string> none{"slo.ttft_ms=null", "slo.tpot_ms=null"};
  const auto limited = [&](std::vector<std::string> set) {
    set.insert(set.begin(), none.begin(), none.end());
    return verdict_of("demo", with(std::move(set)));
  };
  const RunVerdict kept = limited({"slo.p99_ttft_ms=20s", "slo.mean_tpot_ms=500"});
  CHECK(kept.verdict == HoldVerdict::holds);
  CHECK_THAT(kept.reason, StartsWith("p99 TTFT is ") && Contains("; mean TPOT is "));
  const RunVerdict missed = limited({"slo.p95_tpot_ms=8"});
  CHECK(missed.verdict == HoldVerdict::does_not_hold);
  CHECK_THAT(missed.reason, StartsWith("p95 TPOT is ") && Contains(", the target 8.00 ms"));
  CHECK(missed.binds == Binds::decode);
}

TEST_CASE("what a router promises is the least of the targets", "[verdict]") {
  SloSection slo;
  CHECK_FALSE(promised_ms(slo, "ttft"));
  slo.p99_ttft_ms = 800;
  slo.ttft_ms = 1000;
  slo.p99_tpot_ms = 50;
  CHECK(promised_ms(slo, "ttft") == 800.0);
  CHECK(promised_ms(slo, "tpot") == 50.0);
  // Every limit is a latency that results have.
  for (const LatencyLimit& limit : latency_limits()) CHECK(find_latency(limit.metric) != nullptr);
}

TEST_CASE("overload is called so, with what binds", "[verdict]") {
  const RunVerdict verdict =
      verdict_of("demo", {"workload.arrivals.request_rate=60", "workload.num_requests=3000"});
  CHECK(verdict.verdict == HoldVerdict::does_not_hold);
  CHECK_THAT(verdict.reason, StartsWith("overloaded: serves ") && Contains(" of 60 requests/s"));
  CHECK(verdict.binds != Binds::nothing);
}

TEST_CASE("what is too long is refused, not out of memory", "[verdict]") {
  const RunVerdict verdict = verdict_of("demo", with({"engine.max_model_len=4096"}));
  CHECK(verdict.verdict == HoldVerdict::does_not_hold);
  CHECK_THAT(verdict.reason, Contains("longer than the engine accepts"));
  CHECK(verdict.binds == Binds::length);
}

TEST_CASE("a start that fails comes before everything else", "[verdict]") {
  const RunVerdict verdict = verdict_of("llama-70b-does-not-fit");
  CHECK(verdict.verdict == HoldVerdict::does_not_start);
  CHECK_THAT(verdict.reason, StartsWith("weights: "));
}

TEST_CASE("a run that was cut short is judged by what it served", "[verdict]") {
  ScenarioFlags flags;
  flags.until_s = 60;
  const RunResult result = run(load_scenario("demo", flags), catalog());
  REQUIRE(result.summary.requests.unfinished > 0);
  CHECK(unserved_traffic(result).empty());
}

}  // namespace headroom::run_verdict_test
