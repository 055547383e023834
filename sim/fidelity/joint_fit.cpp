#include "sim/fidelity/joint_fit.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sim/fidelity/calibrate.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/in_parallel.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kJointTtftWeight = 0.5;
constexpr double kUsualError = 0.2;    // of a log ratio: a larger one counts less
constexpr double kPlainScatter = 0.1;  // of log ratios that constants cannot explain
// Constants may move so many spreads from where they started, and an engine's own ones so many from
// their mean, before that costs as much as an error of kPlainScatter.
constexpr double kFreeSpreads = 1;
constexpr double kOwnSpreads = 1;
constexpr double kDerivativeSpreads = 0.5;
constexpr int kJointRounds = 3;
constexpr double kMostTies = 1000;
constexpr double kOutsideRange = 0.1;  // of the runs of a model, at each end of the printed range

struct Parameter {
  const BetweenField* field = nullptr;
  std::size_t place = 0;  // of the field among those that are fitted
  std::string engine;     // empty: of all that have none of their own
};

// Of JointFitOptions::own: "request_ms" of every engine, "request_ms@trtllm" of this one.
struct OwnConstant {
  std::string key;
  std::string engine;  // empty: every engine
};
OwnConstant own_constant(const std::string& text) {
  const std::size_t at = std::min(text.find('@'), text.size());
  return {text.substr(0, at), at < text.size() ? text.substr(at + 1) : ""};
}

// One figure of one run.
struct Figure {
  std::size_t run = 0;
  double weight = 0;  // of its square, without that of its size
  bool is_rate = false;
};

class JointProblem {
 public:
  JointProblem(const JointFitOptions& options, const Catalog& catalog)
      : catalog_(catalog), threads_(options.threads), ties_(options.ties) {
    read_fields(options);
    read_runs(options);
    // What kernels do not price, or what does not get to its end, is in no fit.
    std::vector<std::optional<ScoredRun>> all = scores(start_rows(), every(runs_.size()));
    std::vector<MeasuredRun> priced;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i]) continue;
      priced.push_back(std::move(runs_[i]));
      before_.push_back(std::move(*all[i]));
    }
    runs_ = std::move(priced);
    if (runs_.empty()) {
      throw ConfigError(Complaint{.origin = options.directory.string(),
                                  .problem = "no run here is priced by measured kernels"});
    }
    weigh(options);
  }

  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<ScoredRun>& before() const { return before_; }
  [[nodiscard]] std::int64_t replays() const { return replays_; }

  // Of the constants, in spreads.
  [[nodiscard]] VectorXd start() const {
    VectorXd x(static_cast<Eigen::Index>(parameters_.size()));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter& parameter = parameters_[i];
      double sum = 0;
      double count = 0;
      for (const BetweenKernels& row : rows_) {
        if (!sees(row.id, parameter)) continue;
        sum += row.*parameter.field->member / parameter.field->unit;
        ++count;
      }
      x[static_cast<Eigen::Index>(i)] = sum / count / parameter.field->spread;
    }
    return x;
  }
  [[nodiscard]] VectorXd clamped(VectorXd x) const {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const BetweenField& field = *parameters_[i].field;
      double& value = x[static_cast<Eigen::Index>(i)];
      value = std::clamp(value, 0.0, field.fit_high / field.spread);
    }
    return x;
  }
  [[nodiscard]] std::vector<BetweenKernels> rows_at(const VectorXd& x) const {
    std::vector<BetweenKernels> rows = rows_;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter& parameter = parameters_[i];
      for (BetweenKernels& row : rows) {
        if (!parameter.engine.empty() && parameter.engine != row.id) continue;
        row.*parameter.field->member =
            x[static_cast<Eigen::Index>(i)] * parameter.field->spread * parameter.field->unit;
      }
    }
    return rows;
  }

  // Of the runs at these places, in their order.
  [[nodiscard]] std::vector<ScoredRun> scored(const VectorXd& x,
                                              const std::vector<std::size_t>& places) {
    std::vector<ScoredRun> all;
    for (std::optional<ScoredRun>& run : scores(rows_at(x), places)) {
      // A run that no longer gets to its end keeps its first figures.
      all.push_back(run ? std::move(*run) : before_[places[all.size()]]);
    }
    return all;
  }
  [[nodiscard]] std::vector<ScoredRun> scored(const VectorXd& x) {
    return scored(x, every(runs_.size()));
  }

  // log(simulated / measured) of every figure; rates are turned over, so that above 0 is slow.
  [[nodiscard]] VectorXd residuals(const std::vector<ScoredRun>& runs) const {
    VectorXd r(static_cast<Eigen::Index>(figures_.size()));
    std::size_t next = 0;
    for (const ScoredRun& run : runs) {
      for (const ScoredMetric& metric : run.metrics) {
        const double ratio = std::log(metric.simulated / metric.measured);
        r[static_cast<Eigen::Index>(next)] = figures_[next].is_rate ? -ratio : ratio;
        ++next;
      }
    }
    return r;
  }
  // Of the residuals by the constants. A field is moved in all rows at once: a run sees its own.
  [[nodiscard]] MatrixXd derivatives(const VectorXd& x, const VectorXd& r) {
    MatrixXd j = MatrixXd::Zero(r.size(), x.size());
    for (std::size_t place = 0; place < fields_; ++place) {
      VectorXd moved = x;
      for (std::size_t i = 0; i < parameters_.size(); ++i) {
        if (parameters_[i].place == place)
          moved[static_cast<Eigen::Index>(i)] += kDerivativeSpreads;
      }
      const VectorXd change = (residuals(scored(moved)) - r) / kDerivativeSpreads;
      for (std::size_t i = 0; i < parameters_.size(); ++i) {
        const Parameter& parameter = parameters_[i];
        if (parameter.place != place) continue;
        for (Eigen::Index f = 0; f < r.size(); ++f) {
          const ScoredRun& run = before_[figures_[static_cast<std::size_t>(f)].run];
          if (sees(run.cost_family, parameter)) {
            j(f, static_cast<Eigen::Index>(i)) = change[f];
          }
        }
      }
    }
    return j;
  }

  // Where the sum of squares is least if the residuals are linear in the constants, over the
  // figures of runs that `counts`. A constant of all engines that none of them sees stays at x.
  [[nodiscard]] VectorXd solved(const VectorXd& x, const VectorXd& r, const MatrixXd& j,
                                const std::function<bool(const ScoredRun&)>& counts) const {
    MatrixXd normal = MatrixXd::Zero(x.size(), x.size());
    VectorXd right = VectorXd::Zero(x.size());
    for (Eigen::Index f = 0; f < r.size(); ++f) {
      const Figure& figure = figures_[static_cast<std::size_t>(f)];
      if (!counts(before_[figure.run])) continue;
      const double w = figure.weight * std::min(1.0, kUsualError / std::max(1e-9, std::abs(r[f])));
      normal += w * j.row(f).transpose() * j.row(f);
      right -= w * j.row(f).transpose() * r[f];
    }
    VectorXd from = start();
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      const bool is_shared = parameters_[static_cast<std::size_t>(i)].engine.empty();
      if (is_shared && normal(i, i) == 0) from[i] = x[i];  // nobody else could say
    }
    add_ties(x, from, normal, right);
    return clamped(x + normal.ldlt().solve(right));
  }
  // Half of the 95 % interval of each constant, in spreads.
  [[nodiscard]] VectorXd intervals(const VectorXd& x, const VectorXd& r, const MatrixXd& j) const {
    MatrixXd normal = MatrixXd::Zero(x.size(), x.size());
    VectorXd unused = VectorXd::Zero(x.size());
    double squares = 0;
    double weights = 0;
    for (Eigen::Index f = 0; f < r.size(); ++f) {
      const double w = figures_[static_cast<std::size_t>(f)].weight;
      normal += w * j.row(f).transpose() * j.row(f);
      squares += w * r[f] * r[f];
      weights += w;
    }
    add_ties(x, x, normal, unused);
    return 1.96 * (normal.inverse().diagonal() * (squares / weights)).cwiseSqrt();
  }

 private:
  static std::vector<std::size_t> every(std::size_t count) {
    std::vector<std::size_t> places(count);
    for (std::size_t i = 0; i < count; ++i) places[i] = i;
    return places;
  }

  void read_fields(const JointFitOptions& options) {
    if (!(options.ties > 0 && options.ties <= kMostTies)) {
      throw ConfigError(Complaint{.origin = "--ties",
                                  .value = fmt::to_string(options.ties),
                                  .problem = "expected more than 0, up to 1000"});
    }
    rows_ = start_rows();
    std::vector<OwnConstant> own;
    for (const std::string& text : options.own) own.push_back(checked(text, options.fit));
    for (const std::string& key : options.fit) {
      if (std::ranges::count(options.fit, key) > 1) {
        throw ConfigError(fmt::format("calibrate: {} is named twice", key));
      }
      const BetweenField& field = between_field(key);
      const auto has_own = [&](const BetweenKernels& row) {
        return std::ranges::any_of(own, [&](const OwnConstant& one) {
          return one.key == key && (one.engine.empty() || one.engine == row.id);
        });
      };
      // The one of all comes first: an engine's own takes its place (rows_at).
      if (!std::ranges::all_of(rows_, has_own)) parameters_.push_back({&field, fields_, ""});
      for (const BetweenKernels& row : rows_) {
        if (has_own(row)) parameters_.push_back({&field, fields_, row.id});
      }
      ++fields_;
    }
    if (parameters_.empty()) throw ConfigError("calibrate: name the constants to fit");
  }
  [[nodiscard]] OwnConstant checked(const std::string& text,
                                    const std::vector<std::string>& fit) const {
    OwnConstant own = own_constant(text);
    if (std::ranges::find(fit, own.key) == fit.end()) {
      throw ConfigError(
          fmt::format("calibrate: {} is to be each engine's own, but not fitted", own.key));
    }
    if (!own.engine.empty() &&
        std::ranges::find(rows_, own.engine, &BetweenKernels::id) == rows_.end()) {
      std::vector<std::string> ids;
      for (const BetweenKernels& row : rows_) ids.push_back(row.id);
      throw ConfigError(Complaint{.kind = ErrorKind::unknown,
                                  .origin = "--own " + text,
                                  .value = own.engine,
                                  .problem = "expected one of " + comma_list(ids)});
    }
    return own;
  }
  // Which constant of a field the runs of an engine see.
  [[nodiscard]] bool sees(const std::string& engine, const Parameter& parameter) const {
    if (!parameter.engine.empty()) return parameter.engine == engine;
    return std::ranges::none_of(parameters_, [&](const Parameter& other) {
      return other.place == parameter.place && other.engine == engine;
    });
  }
  [[nodiscard]] std::vector<BetweenKernels> start_rows() const {
    std::vector<BetweenKernels> rows;
    for (const std::string& id : catalog_.between_kernels_ids()) {
      rows.push_back(*catalog_.between_kernels(id));
    }
    return rows;
  }

  void read_runs(const JointFitOptions& options) {
    const MeasuredRuns measured = read_measured_runs(options.directory, catalog_);
    std::vector<std::string> sets = options.runs;
    if (!sets.empty()) sets.insert(sets.end(), options.unseen.begin(), options.unseen.end());
    for (const MeasuredRun* run : chosen_runs(options.directory, sets, measured)) {
      if (!run->settings_differ) runs_.push_back(*run);
    }
    if (options.unseen.empty()) return;
    for (const MeasuredRun* run : chosen_runs(options.directory, options.unseen, measured)) {
      unseen_.insert(run->data_set);
    }
  }

  // Nothing for a run that is not priced by kernels, or does not get to its end.
  [[nodiscard]] std::vector<std::optional<ScoredRun>> scores(
      const std::vector<BetweenKernels>& rows, const std::vector<std::size_t>& places) {
    Catalog with = catalog_;
    for (const BetweenKernels& row : rows) with.put(row);
    std::vector<std::optional<ScoredRun>> all(places.size());
    in_parallel(places.size(), threads_,
                [&](std::size_t i) { all[i] = scored_by_kernels(runs_[places[i]], with); });
    replays_ += static_cast<std::int64_t>(places.size());
    return all;
  }

  void weigh(const JointFitOptions& options) {
    if (std::ranges::all_of(before_, [&](const ScoredRun& r) { return is_unseen(r); })) {
      throw ConfigError(Complaint{.origin = options.directory.string(),
                                  .problem = "every run that kernels price is named as unseen, "
                                             "which leaves none to fit on"});
    }
    std::map<std::vector<std::string>, double> count;
    const auto group = [](const ScoredRun& run) {
      return std::vector<std::string>{run.engine, run.device, run.model};
    };
    for (const ScoredRun& run : before_) ++count[group(run)];
    for (std::size_t i = 0; i < before_.size(); ++i) {
      for (const ScoredMetric& metric : before_[i].metrics) {
        const bool ttft = metric.name.find("ttft") != std::string_view::npos;
        const double weight = (ttft ? kJointTtftWeight : 1) / std::sqrt(count[group(before_[i])]);
        figures_.push_back(
            {i, is_unseen(before_[i]) ? 0 : weight, metric.name == "output_throughput"});
      }
    }
  }

  // To where the constants started, `from`, and of an engine's own ones to their mean.
  void add_ties(const VectorXd& x, const VectorXd& from, MatrixXd& normal, VectorXd& right) const {
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      const double w = ties_ * kPlainScatter * kPlainScatter / (kFreeSpreads * kFreeSpreads);
      normal(i, i) += w;
      right[i] -= w * (x[i] - from[i]);
      const Parameter& parameter = parameters_[static_cast<std::size_t>(i)];
      if (parameter.engine.empty()) continue;
      const auto at_place =
          static_cast<double>(std::ranges::count(parameters_, parameter.place, &Parameter::place));
      VectorXd off = VectorXd::Zero(x.size());
      for (Eigen::Index k = 0; k < x.size(); ++k) {
        if (parameters_[static_cast<std::size_t>(k)].place == parameter.place) {
          off[k] = -1 / at_place;
        }
      }
      off[i] += 1;
      const double tie = ties_ * kPlainScatter * kPlainScatter / (kOwnSpreads * kOwnSpreads);
      normal += tie * off * off.transpose();
      right -= tie * off.dot(x) * off;
    }
  }

  [[nodiscard]] bool is_unseen(const ScoredRun& run) const {
    return unseen_.contains(run.data_set);
  }

  const Catalog& catalog_;
  std::size_t threads_;
  double ties_;
  std::vector<BetweenKernels> rows_;  // to start from
  std::vector<Parameter> parameters_;
  std::size_t fields_ = 0;
  std::vector<MeasuredRun> runs_;
  std::set<std::string> unseen_;  // data sets
  std::vector<ScoredRun> before_;
  std::vector<Figure> figures_;  // in the order of runs and their metrics
  std::int64_t replays_ = 0;
};

// The data set's folder.
std::string source_of(const ScoredRun& run) {
  return run.data_set.substr(0, run.data_set.find('/'));
}

// Each run with constants from the runs of other groups.
std::vector<ScoredRun> left_out(JointProblem& problem, const VectorXd& x, const VectorXd& r,
                                const MatrixXd& j,
                                const std::function<std::string(const ScoredRun&)>& group) {
  std::map<std::string, std::vector<std::size_t>> groups;
  const std::vector<ScoredRun>& runs = problem.before();
  for (std::size_t i = 0; i < runs.size(); ++i) groups[group(runs[i])].push_back(i);
  std::vector<ScoredRun> scored(runs.size());
  if (groups.size() < 2) return {};
  for (const auto& [left, places] : groups) {
    const std::string& name = left;  // clang 14 takes no binding into a lambda
    const VectorXd others =
        problem.solved(x, r, j, [&](const ScoredRun& run) { return group(run) != name; });
    std::vector<ScoredRun> own = problem.scored(others, places);
    for (std::size_t i = 0; i < places.size(); ++i) scored[places[i]] = std::move(own[i]);
  }
  return scored;
}

}  // namespace

JointFit fit_between_kernels(const JointFitOptions& options, const Catalog& catalog) {
  JointProblem problem(options, catalog);
  const auto everything = [](const ScoredRun&) { return true; };
  VectorXd x = problem.start();
  JointFit fit;
  fit.before = problem.before();
  fit.after = problem.scored(x);
  VectorXd r = problem.residuals(fit.after);
  MatrixXd j = problem.derivatives(x, r);
  for (int round = 0; round < kJointRounds; ++round) {
    x = problem.solved(x, r, j, everything);
    fit.after = problem.scored(x);
    r = problem.residuals(fit.after);
    j = problem.derivatives(x, r);
  }
  fit.rows = problem.rows_at(x);
  const VectorXd from = problem.start();
  const VectorXd interval = problem.intervals(x, r, j);
  for (std::size_t i = 0; i < problem.parameters().size(); ++i) {
    const Parameter& parameter = problem.parameters()[i];
    const auto at = static_cast<Eigen::Index>(i);
    const double spread = parameter.field->spread;
    fit.constants.push_back({parameter.field, parameter.engine, from[at] * spread, x[at] * spread,
                             interval[at] * spread});
  }
  fit.without_model = left_out(problem, x, r, j, [](const ScoredRun& run) { return run.model; });
  fit.without_device = left_out(problem, x, r, j, [](const ScoredRun& run) { return run.device; });
  fit.without_source = left_out(problem, x, r, j, source_of);
  for (BetweenKernels& row : fit.rows) {
    std::vector<ScoredRun> own;
    std::ranges::copy_if(fit.without_model, std::back_inserter(own),
                         [&](const ScoredRun& run) { return run.cost_family == row.id; });
    row.observed = observed_errors(own, kOutsideRange);
  }
  fit.replays = problem.replays();
  return fit;
}

}  // namespace headroom
