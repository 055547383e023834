#include "sim/study/plan/plan_targets.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/study/compare/student_t.hpp"

namespace headroom {
namespace {

using M = ServingMetrics;

constexpr std::pair<std::string_view, double M::*> kTargetMetrics[] = {
    {"mean_ttft_ms", &M::mean_ttft_ms},     {"median_ttft_ms", &M::median_ttft_ms},
    {"p90_ttft_ms", &M::p90_ttft_ms},       {"p95_ttft_ms", &M::p95_ttft_ms},
    {"p99_ttft_ms", &M::p99_ttft_ms},       {"mean_tpot_ms", &M::mean_tpot_ms},
    {"median_tpot_ms", &M::median_tpot_ms}, {"p90_tpot_ms", &M::p90_tpot_ms},
    {"p95_tpot_ms", &M::p95_tpot_ms},       {"p99_tpot_ms", &M::p99_tpot_ms},
    {"mean_e2el_ms", &M::mean_e2el_ms},     {"median_e2el_ms", &M::median_e2el_ms},
    {"p90_e2el_ms", &M::p90_e2el_ms},       {"p95_e2el_ms", &M::p95_e2el_ms},
    {"p99_e2el_ms", &M::p99_e2el_ms}};

}  // namespace

std::vector<std::string> plan_metric_names() {
  std::vector<std::string> names;
  for (const auto& [name, member] : kTargetMetrics) names.emplace_back(name);
  return names;
}

double plan_metric(const ServingMetrics& metrics, std::string_view name) {
  for (const auto& [known, member] : kTargetMetrics) {
    if (known == name) return metrics.*member;
  }
  HEADROOM_CHECK(false, "no such target");
  return 0;
}

std::optional<double> quantile_of(std::string_view metric) {
  if (metric.starts_with("median_")) return 0.5;
  if (metric.starts_with("p90_")) return 0.9;
  if (metric.starts_with("p95_")) return 0.95;
  if (metric.starts_with("p99_")) return 0.99;
  return std::nullopt;
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
