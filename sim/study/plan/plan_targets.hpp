#pragma once
// Whether runs keep the targets of a plan.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/metrics/serving_metrics.hpp"
#include "sim/study/plan/plan_file.hpp"
#include "sim/study/search/verdict.hpp"

namespace headroom {

// mean, median, p90, p95, p99 of TTFT, TPOT and E2E latency, as results name them.
[[nodiscard]] std::vector<std::string> plan_metric_names();
[[nodiscard]] double plan_metric(const ServingMetrics& metrics, std::string_view name);

// "p99_ttft_ms": the share 0.99; of a mean nothing.
[[nodiscard]] std::optional<double> quantile_of(std::string_view metric);

// What one target came to over replications that differ in their seeds only.
struct PlanVerdict {
  double mean = 0;
  double upper = 0;  // end of the mean's interval of 95 % (Student's t); of one run: its value
  double worst = 0;
  Verdict verdict = Verdict::open;
};

// The rule of searches: within the limit to the end of the interval of 95 % around the mean, it is
// kept; beyond it to the other end, it is missed; in between more replications could tell. Of one
// run its own value decides. `values`: at least one.
[[nodiscard]] PlanVerdict judge_target(std::span<const double> values, double limit);

}  // namespace headroom
