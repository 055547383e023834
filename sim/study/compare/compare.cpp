#include "sim/study/compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/in_parallel.hpp"
#include "sim/study/compare/student_t.hpp"
#include "sim/study/sweep/run_row.hpp"
#include "sim/study/sweep/study_plan.hpp"

namespace headroom {
namespace {

constexpr std::size_t kMostWorst = 20;

// What a point of a pair differs in from the other: "engine.name=tgi".
std::string label_of(const StudyPlan& plan, std::int64_t point) {
  const std::vector<StudyParameter> own = plan.parameters(point);
  const std::vector<StudyParameter> other = plan.parameters(1 - point);
  std::string label;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].json == other[i].json) continue;
    if (!label.empty()) label += ", ";
    label += fmt::format("{}={}", own[i].path, own[i].json);
  }
  std::erase(label, '"');
  return label;
}

class PairRuns {
 public:
  PairRuns(const Comparison& comparison, const Catalog& catalog, const CompareOptions& options,
           ComparisonResult& result)
      : comparison_(comparison), catalog_(catalog), options_(options), result_(result) {}

  // Both sides of every replication.
  void run_all() {
    rows_.resize(static_cast<std::size_t>(2 * comparison_.replications));
    const std::size_t probed = replays_both() ? std::min(kTwoPairs, rows_.size()) : 0;
    run(0, probed);
    if (probed == kTwoPairs && rows_[0].digest == rows_[2].digest &&
        rows_[1].digest == rows_[3].digest) {
      result_.has_no_draws = true;
      rows_.resize(2);
    } else {
      run(probed, rows_.size());
    }
    for (std::size_t task = 0; task < rows_.size(); ++task) {
      (task % 2 == 0 ? result_.a : result_.b).rows.push_back(std::move(rows_[task]));
    }
  }

 private:
  static constexpr std::size_t kTwoPairs = 4;

  [[nodiscard]] bool replays_both() const {
    return !comparison_.a.scenario.workload.trace.file.empty() &&
           !comparison_.b.scenario.workload.trace.file.empty();
  }

  void run(std::size_t begin, std::size_t end) {
    in_parallel(end - begin, options_.threads, [&](std::size_t i) { run_one(begin + i); });
  }

  void run_one(std::size_t task) {
    const bool is_a = task % 2 == 0;
    Scenario scenario = (is_a ? comparison_.a : comparison_.b).scenario;
    const auto replication = static_cast<std::int64_t>(task / 2);
    scenario.seed = comparison_.a.scenario.seed + replication;
    RunResult run = headroom::run(scenario, catalog_, {options_.interrupted, nullptr});
    StoredRun& row = rows_[task] = row_of(run, {});
    row.replication = replication;
    row.seed = scenario.seed;
    row.done = true;
    if (replication == 0) (is_a ? result_.a : result_.b).first = std::move(run);
    if (options_.done != nullptr) options_.done->fetch_add(1, std::memory_order_relaxed);
  }

  const Comparison& comparison_;
  const Catalog& catalog_;
  const CompareOptions& options_;
  ComparisonResult& result_;
  std::vector<StoredRun> rows_;  // A and B of the first replication, of the second, ...
};

const double* find_metric(const StoredRun& run, const std::string& name) {
  const auto found = std::ranges::find(run.metrics, name, [](const auto& m) { return m.first; });
  return found == run.metrics.end() ? nullptr : &found->second;
}

std::span<const RequestRecord> records_of(const RunResult& result) {
  if (!result.recorder) return {};
  return result.recorder->records();
}

}  // namespace

Comparison load_pair(const std::string& name, const std::vector<std::string>& set) {
  const StudyPlan plan(load_study(name, set));
  if (plan.points() != 2) {
    throw ConfigError(Complaint{
        .origin = plan.study().file,
        .problem = fmt::format("{} points: expected two scenarios, or a study with two points",
                               plan.points())});
  }
  const std::int64_t replications = plan.study().replications;
  Comparison comparison;
  comparison.name = plan.study().name;
  comparison.a = {label_of(plan, 0), plan.scenario(0)};
  comparison.b = {label_of(plan, 1), plan.scenario(replications)};
  if (replications > 1) comparison.replications = replications;
  return comparison;
}

Comparison load_pair(const std::string& a, const std::string& b,
                     const std::vector<std::string>& set, const std::vector<std::string>& set_a,
                     const std::vector<std::string>& set_b,
                     const std::optional<std::string>& trace) {
  const auto side = [&](const std::string& name, const std::vector<std::string>& own,
                        const char* own_flag) {
    ScenarioFlags flags;
    flags.set = set;
    flags.own = own;
    flags.own_flag = own_flag;
    flags.trace = trace;
    ComparedScenario compared{name, load_scenario(name, flags)};
    for (const std::string& assignment : own) compared.label += " " + assignment;
    return compared;
  };
  Comparison comparison;
  comparison.a = side(a, set_a, "--set-a");
  comparison.b = side(b, set_b, "--set-b");
  comparison.name = fmt::format("{} and {}", comparison.a.label, comparison.b.label);
  return comparison;
}

std::vector<MetricPair> pair_metrics(const std::vector<StoredRun>& a,
                                     const std::vector<StoredRun>& b) {
  std::vector<std::string> names;
  for (const StoredRun& run : a) {
    for (const auto& [name, value] : run.metrics) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  std::vector<MetricPair> pairs;
  for (const std::string& name : names) {
    MetricPair pair{.name = name};
    std::vector<double> differences;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      const double* in_a = find_metric(a[i], name);
      const double* in_b = find_metric(b[i], name);
      if (in_a == nullptr || in_b == nullptr) continue;
      pair.mean_a += *in_a;
      pair.mean_b += *in_b;
      differences.push_back(*in_b - *in_a);
    }
    if (differences.empty()) continue;
    pair.pairs = static_cast<std::int64_t>(differences.size());
    pair.mean_a /= static_cast<double>(pair.pairs);
    pair.mean_b /= static_cast<double>(pair.pairs);
    const MeanInterval interval = mean_interval(differences);
    pair.difference = interval.mean;
    pair.half_width = interval.half_width;
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

ComparisonResult compare(const Comparison& comparison, const Catalog& catalog,
                         const CompareOptions& options) {
  ComparisonResult result;
  PairRuns(comparison, catalog, options, result).run_all();
  result.a.verdict = judge_run(result.a.first, catalog);
  result.b.verdict = judge_run(result.b.first, catalog);
  result.metrics = pair_metrics(result.a.rows, result.b.rows);
  if (comparison.a.scenario.output.streaming || comparison.b.scenario.output.streaming) {
    result.requests.why_not = "output.streaming keeps no records";
  } else {
    result.requests =
        pair_requests(records_of(result.a.first), records_of(result.b.first), kMostWorst);
  }
  return result;
}

}  // namespace headroom
