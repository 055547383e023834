#include "sim/study/plan/plan_targets.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/metrics/latency_metrics.hpp"
#include "sim/study/compare/student_t.hpp"

namespace headroom {
namespace {

// What a target may bound: a level that each request of the run has.
bool is_target(const LatencyMetric& metric) {
  return metric.kind != LatencyKind::itl && !metric.is_spread;
}

}  // namespace

std::vector<std::string> plan_metric_names() {
  std::vector<std::string> names;
  for (const LatencyMetric& metric : latency_metrics()) {
    if (is_target(metric)) names.emplace_back(metric.name);
  }
  return names;
}

double plan_metric(const ServingMetrics& metrics, std::string_view name) {
  const LatencyMetric* metric = find_latency(name);
  HEADROOM_CHECK(metric != nullptr && is_target(*metric), "no such target");
  return metrics.*metric->value;
}

std::optional<double> quantile_of(std::string_view metric) {
  const LatencyMetric* known = find_latency(metric);
  return known == nullptr ? std::nullopt : known->quantile;
}

PlanVerdict judge_target(std::span<const double> values, double limit) {
  const MeanInterval interval = mean_interval(values);
  PlanVerdict verdict;
  verdict.mean = interval.mean;
  verdict.upper = interval.mean + interval.half_width;
  verdict.worst = *std::ranges::max_element(values);
  if (verdict.upper <= limit) {
    verdict.verdict = Verdict::passes;
  } else if (interval.mean - interval.half_width > limit) {
    verdict.verdict = Verdict::fails;
  }
  return verdict;
}

}  // namespace headroom
