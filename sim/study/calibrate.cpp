#include "sim/study/calibrate.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kSeen = 0.01;       // change of the figures per spread that counts as seen
constexpr double kStep = 0.5;        // of a spread: both sides of a derivative
constexpr double kTtftWeight = 0.5;  // queues make it several times as sensitive as the others
constexpr int kRounds = 12;
constexpr int kDampings = 6;
constexpr double kEnough = 1e-5;  // relative gain of a round that ends the fit

double weight_of(std::string_view metric) {
  return metric.find("ttft") != std::string_view::npos ? kTtftWeight : 1.0;
}

// Constants in spreads from where the row has them.
class Fit {
 public:
  Fit(const Calibration& row, std::vector<const CalibrationField*> fields, const Catalog& catalog,
      std::vector<const MeasuredRun*> runs)
      : row_(row), fields_(std::move(fields)), catalog_(catalog), runs_(std::move(runs)) {
    free_.resize(fields_.size());
    std::iota(free_.begin(), free_.end(), std::size_t{0});
  }

  [[nodiscard]] Calibration at(const VectorXd& x) const {
    Calibration moved = row_;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const CalibrationField& field = *fields_[i];
      const double number = before(i) + field.spread * x[static_cast<Eigen::Index>(i)];
      moved.*field.member = field.unit * std::clamp(number, lowest(i), highest(i));
    }
    return moved;
  }
  [[nodiscard]] double before(std::size_t i) const {
    return row_.*fields_[i]->member / fields_[i]->unit;
  }
  // Where the row itself lies beyond what was ever measured, a fit may stay there.
  [[nodiscard]] double lowest(std::size_t i) const {
    return std::min(fields_[i]->fit_low, before(i));
  }
  [[nodiscard]] double highest(std::size_t i) const {
    return std::max(fields_[i]->fit_high, before(i));
  }
  [[nodiscard]] VectorXd clamped(VectorXd x) const {
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      x[i] = std::clamp(x[i], (lowest(k) - before(k)) / fields_[k]->spread,
                        (highest(k) - before(k)) / fields_[k]->spread);
    }
    return x;
  }

  [[nodiscard]] std::vector<ScoredRun> scores(const Calibration& row) {
    Catalog with = catalog_;
    with.put(row);
    std::vector<ScoredRun> scored;
    for (const MeasuredRun* run : runs_) {
      scored.push_back(replay_and_score(*run, with, row.id));
      ++replays_;
    }
    return scored;
  }
  [[nodiscard]] VectorXd residuals(const VectorXd& x) {
    std::vector<double> errors;
    for (const ScoredRun& run : scores(at(x))) {
      for (const ScoredMetric& metric : run.metrics) {
        errors.push_back(weight_of(metric.name) * std::log(metric.simulated / metric.measured));
      }
    }
    return Eigen::Map<const VectorXd>(errors.data(), static_cast<Eigen::Index>(errors.size()));
  }
  // Of the residuals, by the constants that are fitted, in the order of free().
  [[nodiscard]] MatrixXd derivatives(const VectorXd& x) {
    MatrixXd j;
    for (std::size_t k = 0; k < free_.size(); ++k) {
      const auto i = static_cast<Eigen::Index>(free_[k]);
      VectorXd up = x;
      VectorXd down = x;
      up[i] += kStep;
      down[i] -= kStep;
      up = clamped(up);
      down = clamped(down);
      const VectorXd change = residuals(up) - residuals(down);
      if (k == 0) j.resize(change.size(), static_cast<Eigen::Index>(free_.size()));
      j.col(static_cast<Eigen::Index>(k)) = change / (up[i] - down[i]);
    }
    return j;
  }

  // Directions among constants that the figures see, as columns.
  [[nodiscard]] static MatrixXd seen(const MatrixXd& j) {
    if (j.cols() == 0) return {};
    const Eigen::JacobiSVD<MatrixXd> svd(j, Eigen::ComputeThinV);
    const double figures = std::sqrt(static_cast<double>(j.rows()));
    Eigen::Index count = 0;
    while (count < svd.singularValues().size() && svd.singularValues()[count] / figures >= kSeen) {
      ++count;
    }
    return svd.matrixV().leftCols(count);
  }

  // Gives up constants until the figures see every direction among the rest: each time the one that
  // has the least part in what is seen.
  void keep_identified() {
    MatrixXd j = derivatives(VectorXd::Zero(static_cast<Eigen::Index>(fields_.size())));
    while (!free_.empty()) {
      const MatrixXd basis = seen(j);
      if (basis.cols() == j.cols()) return;
      Eigen::Index least = 0;
      for (Eigen::Index i = 1; i < j.cols() && basis.cols() > 0; ++i) {
        if (basis.row(i).squaredNorm() < basis.row(least).squaredNorm()) least = i;
      }
      free_.erase(free_.begin() + least);
      const Eigen::Index behind = j.cols() - least - 1;
      j.middleCols(least, behind) = j.rightCols(behind).eval();
      j.conservativeResize(Eigen::NoChange, j.cols() - 1);
    }
  }
  [[nodiscard]] const std::vector<std::size_t>& free() const { return free_; }

  [[nodiscard]] VectorXd solve() {
    VectorXd x = VectorXd::Zero(static_cast<Eigen::Index>(fields_.size()));
    VectorXd r = residuals(x);
    for (int round = 0; round < kRounds && !free_.empty(); ++round) {
      const MatrixXd j = derivatives(x);
      const double before = r.squaredNorm();
      double damping = 1e-4 * j.squaredNorm();
      for (int i = 0; i < kDampings; ++i, damping *= 20) {
        MatrixXd normal = j.transpose() * j;
        normal.diagonal().array() += damping;
        const VectorXd step = normal.ldlt().solve(j.transpose() * -r);
        VectorXd next = x;
        for (std::size_t k = 0; k < free_.size(); ++k) {
          next[static_cast<Eigen::Index>(free_[k])] += step[static_cast<Eigen::Index>(k)];
        }
        next = clamped(next);
        const VectorXd next_r = residuals(next);
        if (next_r.squaredNorm() >= r.squaredNorm()) continue;
        x = next;
        r = next_r;
        break;
      }
      if (before - r.squaredNorm() <= kEnough * before) break;
    }
    return x;
  }
  [[nodiscard]] std::int64_t replays() const { return replays_; }

 private:
  const Calibration& row_;
  std::vector<const CalibrationField*> fields_;
  const Catalog& catalog_;
  std::vector<const MeasuredRun*> runs_;
  std::vector<std::size_t> free_;  // places in fields_: what is fitted
  std::int64_t replays_ = 0;
};

std::vector<const MeasuredRun*> chosen_runs(const CalibrateOptions& options,
                                            const MeasuredRuns& measured) {
  std::vector<const MeasuredRun*> runs;
  for (const std::string& wanted : options.runs) {
    bool found = false;
    for (const MeasuredRun& run : measured.runs) {
      const bool meant = run.data_set == wanted || run.data_set.starts_with(wanted + "/");
      found |= meant;
      if (meant && std::ranges::find(runs, &run) == runs.end()) runs.push_back(&run);
    }
    if (!found) {
      throw ConfigError(
          fmt::format("{}: no measured run \"{}\" (headroom validate runs shows them)",
                      options.directory.string(), wanted));
    }
  }
  return runs;
}

double rms(const VectorXd& r) {
  return std::sqrt(r.squaredNorm() / static_cast<double>(std::max<Eigen::Index>(1, r.size())));
}

void describe(Fit& fit, const VectorXd& x, const std::vector<const CalibrationField*>& fields,
              CalibrationFit& result) {
  const VectorXd r = fit.residuals(x);
  const MatrixXd j = fit.derivatives(x);
  MatrixXd covariance;
  if (j.cols() > 0) {
    const auto freedom = std::max<Eigen::Index>(1, r.size() - j.cols());
    covariance = (j.transpose() * j).inverse() * (r.squaredNorm() / static_cast<double>(freedom));
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto at = std::ranges::find(fit.free(), i);
    FittedConstant constant;
    constant.field = fields[i];
    constant.before = fit.before(i);
    constant.value = constant.before + fields[i]->spread * x[static_cast<Eigen::Index>(i)];
    constant.identified = at != fit.free().end();
    if (constant.identified) {
      const auto k = static_cast<Eigen::Index>(at - fit.free().begin());
      constant.interval = 1.96 * fields[i]->spread * std::sqrt(covariance(k, k));
      const double edge = 1e-6 * (fields[i]->fit_high - fields[i]->fit_low);
      constant.at_limit = constant.value <= fields[i]->fit_low + edge ||
                          constant.value >= fields[i]->fit_high - edge;
    }
    result.constants.push_back(constant);
  }
}

}  // namespace

CalibrationFit calibrate(const CalibrateOptions& options, const Catalog& catalog) {
  const Calibration& row = catalog.calibration(options.calibration);
  const MeasuredRuns measured = read_measured_runs(options.directory, catalog);
  const std::vector<const MeasuredRun*> runs = chosen_runs(options, measured);
  std::vector<const CalibrationField*> fields;
  for (const std::string& key : options.fit) {
    fields.push_back(&calibration_field(key));
    if (std::ranges::count(fields, fields.back()) > 1) {
      throw ConfigError(fmt::format("calibrate: {} is named twice", key));
    }
  }
  if (fields.empty() || runs.empty()) {
    throw ConfigError("calibrate: name the runs and the constants to fit on them");
  }

  CalibrationFit result;
  Fit fit(row, fields, catalog, runs);
  const VectorXd start = VectorXd::Zero(static_cast<Eigen::Index>(fields.size()));
  const VectorXd r = fit.residuals(start);
  if (r.size() < start.size()) {
    throw ConfigError(
        fmt::format("calibrate: {} constants for {} measured figures", start.size(), r.size()));
  }
  fit.keep_identified();
  const VectorXd x = fit.solve();
  describe(fit, x, fields, result);
  result.rms_before = rms(r);
  result.rms_after = rms(fit.residuals(x));
  result.calibration = fit.at(x);
  for (const MeasuredRun* run : runs) {
    auto& fitted = result.calibration.fitted_runs;
    if (std::ranges::find(fitted, run->data_set) == fitted.end()) fitted.push_back(run->data_set);
  }
  result.before = fit.scores(row);
  result.after = fit.scores(result.calibration);
  result.calibration.observed = observed_errors(result.after);
  result.replays = fit.replays();
  for (std::size_t i = 0; runs.size() > 1 && i < runs.size(); ++i) {
    std::vector<const MeasuredRun*> others = runs;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    Fit without(row, fields, catalog, others);
    without.keep_identified();
    const Calibration fitted = without.at(without.solve());
    Catalog with = catalog;
    with.put(fitted);
    result.left_out.push_back(
        {runs[i]->data_set, replay_and_score(*runs[i], with, fitted.id).metrics});
    result.replays += without.replays() + 1;
  }
  return result;
}

}  // namespace headroom
