#include "sim/study/assert/assert_runs.hpp"

#include <algorithm>
#include <array>

#include "sim/kernel/in_parallel.hpp"
#include "sim/metrics/latency_metrics.hpp"
#include "sim/resolve/run_verdict.hpp"
#include "sim/resolve/start_verdict.hpp"
#include "sim/study/sweep/run_row.hpp"

namespace headroom {
namespace {

constexpr std::array<std::string_view, 3> kVerdictNames{"holds", "tight", "broken"};
constexpr std::array<std::string_view, 2> kPoolMetrics{"kv_tokens", "kv_pool_bytes"};

// True / shown - 1, as replays of measured runs and logged start-ups showed it.
ErrorRange known_range(const RunResult& run, std::string_view metric) {
  if (const LatencyMetric* latency = find_latency(metric)) {
    return latency_range(run.expected_error, latency->kind);
  }
  if (std::ranges::find(kPoolMetrics, metric) != kPoolMetrics.end()) {
    const double error = sizes_its_pool(run.resolved) ? kPoolError : 0;
    return {metric, -error, error};
  }
  const auto found = std::ranges::find(run.expected_error.ranges, metric, &ErrorRange::metric);
  return found == run.expected_error.ranges.end() ? ErrorRange{} : *found;
}

std::string why_missing(const RunResult& run, std::string_view metric) {
  if (!run.started) return "the engine does not start";
  if (find_latency(metric) != nullptr) {
    if (std::string unserved = unserved_traffic(run); !unserved.empty()) return unserved;
    return "no request finished";
  }
  if (metric.find("goodput") != std::string_view::npos) {
    return "the scenario has no targets (slo)";
  }
  return "this run has no such figure";
}

}  // namespace

std::string_view name_of(AssertionVerdict verdict) {
  return kVerdictNames[static_cast<std::size_t>(verdict)];
}

std::size_t CheckedScenario::count(AssertionVerdict verdict) const {
  return static_cast<std::size_t>(
      std::ranges::count(assertions, verdict, &CheckedAssertion::verdict));
}

std::vector<CheckedAssertion> check_assertions(const RunResult& run,
                                               const std::vector<Assertion>& assertions) {
  const StoredRun row = row_of(run, "");
  std::vector<CheckedAssertion> all;
  for (const Assertion& assertion : assertions) {
    CheckedAssertion checked;
    checked.assertion = assertion;
    const auto found = std::ranges::find(row.metrics, assertion.metric,
                                         [](const auto& metric) { return metric.first; });
    if (found == row.metrics.end()) {
      checked.why = why_missing(run, assertion.metric);
      all.push_back(std::move(checked));
      continue;
    }
    const double value = found->second;
    const ErrorRange range = known_range(run, assertion.metric);
    checked.value = value;
    checked.low = value * (1 + range.low);
    checked.high = value * (1 + range.high);
    if (assertion.holds_at(value)) {
      checked.verdict = assertion.may_break(checked.low, checked.high) ? AssertionVerdict::tight
                                                                       : AssertionVerdict::holds;
    }
    all.push_back(std::move(checked));
  }
  return all;
}

std::vector<CheckedScenario> assert_runs(const std::vector<AssertedScenario>& scenarios,
                                         const std::vector<Assertion>& assertions,
                                         const Catalog& catalog, const AssertOptions& options) {
  std::vector<CheckedScenario> all(scenarios.size());
  in_parallel(scenarios.size(), options.threads, [&](std::size_t i) {
    const AssertedScenario& one = scenarios[i];
    const RunResult result = run(one.scenario, catalog, {.interrupted = options.interrupted});
    all[i] = {one.scenario.name, one.file, result.digest, result.expected_error.runs,
              check_assertions(result, assertions)};
  });
  return all;
}

}  // namespace headroom
