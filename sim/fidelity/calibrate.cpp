#include "sim/fidelity/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr double kTtftWeight = 0.5;  // queues make it several times as sensitive as the others

double weight_of(std::string_view metric) {
  return metric.find("ttft") != std::string_view::npos ? kTtftWeight : 1.0;
}

class Replays {
 public:
  Replays(const Catalog& catalog, std::vector<const MeasuredRun*> runs)
      : catalog_(catalog), runs_(std::move(runs)) {}

  // Of the runs at these places.
  [[nodiscard]] std::vector<ScoredRun> scores(const Calibration& row,
                                              std::span<const std::size_t> places) {
    Catalog with = catalog_;
    with.put(row);
    std::vector<ScoredRun> scored;
    for (const std::size_t place : places) {
      scored.push_back(replay_and_score(*runs_[place], with, row.id));
      ++count_;
    }
    return scored;
  }
  [[nodiscard]] std::vector<double> residuals(const Calibration& row,
                                              std::span<const std::size_t> places) {
    std::vector<double> errors;
    for (const ScoredRun& run : scores(row, places)) {
      for (const ScoredMetric& metric : run.metrics) {
        errors.push_back(weight_of(metric.name) * std::log(metric.simulated / metric.measured));
      }
    }
    return errors;
  }
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  const Catalog& catalog_;
  std::vector<const MeasuredRun*> runs_;
  std::int64_t count_ = 0;
};

}  // namespace

std::vector<const MeasuredRun*> chosen_runs(const std::filesystem::path& directory,
                                            const std::vector<std::string>& data_sets,
                                            const MeasuredRuns& measured) {
  std::vector<const MeasuredRun*> runs;
  if (data_sets.empty()) {
    for (const MeasuredRun& run : measured.runs) runs.push_back(&run);
  }
  for (const std::string& wanted : data_sets) {
    bool found = false;
    for (const MeasuredRun& run : measured.runs) {
      const bool meant = run.data_set == wanted || run.data_set.starts_with(wanted + "/");
      found |= meant;
      if (meant && std::ranges::find(runs, &run) == runs.end()) runs.push_back(&run);
    }
    if (!found) {
      throw ConfigError(Complaint{
          .origin = directory.string(),
          .problem =
              fmt::format("no measured run \"{}\" (headroom validate runs shows them)", wanted)});
    }
  }
  return runs;
}

CalibrationFit calibrate(const CalibrateOptions& options, const Catalog& catalog) {
  FitProblem problem;
  problem.row = catalog.calibration(options.calibration);
  const MeasuredRuns measured = read_measured_runs(options.directory, catalog);
  if (options.runs.empty()) throw ConfigError("calibrate: name the runs to fit on (--runs)");
  const std::vector<const MeasuredRun*> runs =
      chosen_runs(options.directory, options.runs, measured);
  problem.fields = constants_to_fit(options.fit);
  problem.groups = runs.size();
  Replays replays(catalog, runs);
  problem.residuals = [&replays](const Calibration& row, std::span<const std::size_t> places) {
    return replays.residuals(row, places);
  };

  CalibrationFit result{fit_constants(problem), {}, {}, {}, 0};
  for (const MeasuredRun* run : runs) {
    auto& fitted = result.calibration.fitted_runs;
    if (std::ranges::find(fitted, run->data_set) == fitted.end()) fitted.push_back(run->data_set);
  }
  std::vector<std::size_t> all(runs.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  result.before = replays.scores(problem.row, all);
  result.after = replays.scores(result.calibration, all);
  result.calibration.observed = observed_errors(result.after);
  const std::vector<Calibration> without = fit_without_each(problem);
  for (std::size_t i = 0; i < without.size(); ++i) {
    const std::array place{i};
    result.left_out.push_back(
        {runs[i]->data_set, replays.scores(without[i], place).front().metrics});
  }
  result.replays = replays.count();
  return result;
}

}  // namespace headroom
