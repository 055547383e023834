#include "sim/study/search/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/kernel/check.hpp"
#include "sim/study/compare/student_t.hpp"

namespace headroom {
namespace {

constexpr std::array<std::string_view, 3> kVerdicts{"passes", "fails", "open"};

std::optional<double> value_of(const StoredRun& run, const std::string& metric) {
  const auto found = std::ranges::find(run.metrics, metric, [](const auto& m) { return m.first; });
  if (found == run.metrics.end()) return std::nullopt;
  return found->second;
}

bool keeps(const Limit& limit, double value) {
  return limit.at_most ? value <= limit.bound : value >= limit.bound;
}

// What the run breaks; empty: nothing.
std::string broken_by(const ValueSearch& search, const StoredRun& run) {
  for (const Limit& limit : search.each) {
    const std::optional<double> value = value_of(run, limit.metric);
    if (value && keeps(limit, *value)) continue;
    if (limit.metric == "started") return "does not start";
    return fmt::format("{} {} in replication {}", limit.metric, value.value_or(0), run.replication);
  }
  if (search.stationary && run.stationary != true) {
    return fmt::format("not stationary in replication {}", run.replication);
  }
  for (const Limit& limit : search.limits) {
    if (!value_of(run, limit.metric)) {
      return fmt::format("no {} in replication {}", limit.metric, run.replication);
    }
  }
  return "";
}

MetricMean mean_of(const std::string& metric, const std::vector<StoredRun>& runs) {
  std::vector<double> values;
  for (const StoredRun& run : runs) values.push_back(*value_of(run, metric));
  const MeanInterval interval = mean_interval(values);
  return {metric, interval.mean, interval.half_width};
}

}  // namespace

std::string_view name_of(Verdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }

Judgement judge(const ValueSearch& search, const std::vector<StoredRun>& runs) {
  HEADROOM_CHECK(!runs.empty(), "a verdict on nothing");
  Judgement judgement;
  for (const StoredRun& run : runs) {
    judgement.why = broken_by(search, run);
    if (judgement.why.empty()) continue;
    judgement.verdict = Verdict::fails;
    return judgement;
  }
  judgement.verdict = Verdict::passes;
  for (const Limit& limit : search.limits) {
    const MetricMean mean = mean_of(limit.metric, runs);
    judgement.means.push_back(mean);
    const double near = limit.at_most ? mean.mean - mean.half_width : mean.mean + mean.half_width;
    const double far = limit.at_most ? mean.mean + mean.half_width : mean.mean - mean.half_width;
    if (keeps(limit, far) || judgement.verdict == Verdict::fails) continue;
    judgement.verdict = keeps(limit, near) ? Verdict::open : Verdict::fails;
    judgement.why = limit.metric;
  }
  const bool is_last = static_cast<std::int64_t>(runs.size()) >= search.max_replications;
  if (judgement.verdict == Verdict::open && is_last) {
    judgement.verdict = Verdict::fails;
    judgement.why += fmt::format(" is not certain after {} replications", runs.size());
  }
  return judgement;
}

}  // namespace headroom
