#include "sim/fidelity/bounded_fit.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kSeen = 0.01;  // change of the figures per spread that counts as seen
constexpr int kRounds = 12;
constexpr int kDampings = 6;
constexpr double kEnough = 1e-5;  // relative gain of a round that ends the fit

// Constants in spreads from where the row has them.
class BoundedProblem {
 public:
  BoundedProblem(const FitProblem& problem, std::vector<std::size_t> groups)
      : problem_(problem), fields_(problem.fields), groups_(std::move(groups)) {
    free_.resize(fields_.size());
    std::iota(free_.begin(), free_.end(), std::size_t{0});
  }

  [[nodiscard]] VectorXd start() const {
    return VectorXd::Zero(static_cast<Eigen::Index>(fields_.size()));
  }
  [[nodiscard]] Calibration at(const VectorXd& x) const {
    Calibration moved = problem_.row;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const CalibrationField& field = *fields_[i];
      const double number = before(i) + field.spread * x[static_cast<Eigen::Index>(i)];
      moved.*field.member = field.unit * std::clamp(number, lowest(i), highest(i));
    }
    return moved;
  }
  [[nodiscard]] double before(std::size_t i) const {
    return problem_.row.*fields_[i]->member / fields_[i]->unit;
  }
  [[nodiscard]] VectorXd residuals(const VectorXd& x) const {
    const std::vector<double> errors = problem_.residuals(at(x), groups_);
    return Eigen::Map<const VectorXd>(errors.data(), static_cast<Eigen::Index>(errors.size()));
  }
  // Of the residuals, by the constants that are fitted, in the order of free().
  [[nodiscard]] MatrixXd derivatives(const VectorXd& x) const {
    MatrixXd j;
    for (std::size_t k = 0; k < free_.size(); ++k) {
      const auto i = static_cast<Eigen::Index>(free_[k]);
      VectorXd up = x;
      VectorXd down = x;
      up[i] += problem_.derivative_step;
      down[i] -= problem_.derivative_step;
      up = clamped(up);
      down = clamped(down);
      const VectorXd change = residuals(up) - residuals(down);
      if (k == 0) j.resize(change.size(), static_cast<Eigen::Index>(free_.size()));
      j.col(static_cast<Eigen::Index>(k)) = change / (up[i] - down[i]);
    }
    return j;
  }

  // Gives up constants until the figures see every direction among the rest: each time the one that
  // has the least part in what is seen.
  void keep_identified() {
    MatrixXd j = derivatives(start());
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

  [[nodiscard]] VectorXd solve() const {
    VectorXd x = start();
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

 private:
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

  const FitProblem& problem_;
  const std::vector<const CalibrationField*>& fields_;
  std::vector<std::size_t> groups_;
  std::vector<std::size_t> free_;  // places in fields_: what is fitted
};

std::vector<std::size_t> all_groups(const FitProblem& problem) {
  std::vector<std::size_t> groups(problem.groups);
  std::iota(groups.begin(), groups.end(), std::size_t{0});
  return groups;
}

double rms(const VectorXd& r) {
  return std::sqrt(r.squaredNorm() / static_cast<double>(std::max<Eigen::Index>(1, r.size())));
}

std::vector<FittedConstant> described(const BoundedProblem& fit, const VectorXd& x,
                                      const VectorXd& r,
                                      const std::vector<const CalibrationField*>& fields) {
  const MatrixXd j = fit.derivatives(x);
  MatrixXd covariance;
  if (j.cols() > 0) {
    const auto freedom = std::max<Eigen::Index>(1, r.size() - j.cols());
    covariance = (j.transpose() * j).inverse() * (r.squaredNorm() / static_cast<double>(freedom));
  }
  std::vector<FittedConstant> constants;
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
    constants.push_back(constant);
  }
  return constants;
}

}  // namespace

std::vector<const CalibrationField*> constants_to_fit(const std::vector<std::string>& keys) {
  std::vector<const CalibrationField*> fields;
  for (const std::string& key : keys) {
    fields.push_back(&calibration_field(key));
    if (std::ranges::count(fields, fields.back()) > 1) {
      throw ConfigError(fmt::format("calibrate: {} is named twice", key));
    }
  }
  if (fields.empty()) throw ConfigError("calibrate: name the constants to fit");
  return fields;
}

ConstantsFit fit_constants(const FitProblem& problem) {
  BoundedProblem fit(problem, all_groups(problem));
  const VectorXd before = fit.residuals(fit.start());
  if (before.size() < fit.start().size()) {
    throw ConfigError(fmt::format("calibrate: {} constants for {} measured figures",
                                  fit.start().size(), before.size()));
  }
  fit.keep_identified();
  const VectorXd x = fit.solve();
  const VectorXd after = fit.residuals(x);
  ConstantsFit result;
  result.calibration = fit.at(x);
  result.constants = described(fit, x, after, problem.fields);
  result.rms_before = rms(before);
  result.rms_after = rms(after);
  return result;
}

std::vector<Calibration> fit_without_each(const FitProblem& problem) {
  std::vector<Calibration> rows;
  for (std::size_t i = 0; problem.groups > 1 && i < problem.groups; ++i) {
    std::vector<std::size_t> others = all_groups(problem);
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    BoundedProblem without(problem, std::move(others));
    without.keep_identified();
    rows.push_back(without.at(without.solve()));
  }
  return rows;
}

}  // namespace headroom
