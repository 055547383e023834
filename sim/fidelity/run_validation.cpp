#include "sim/fidelity/run_validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "hardware/cost/kernel_times.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/folders.hpp"
#include "sim/kernel/in_parallel.hpp"
#include "sim/metrics/serving_metrics.hpp"
#include "sim/resolve/run.hpp"
#include "workloads/listed_arrivals.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<WorkloadSource> requests_of(const MeasuredRun& run) {
  if (run.concurrency == 0) return std::make_unique<ListedArrivals>(run.arrivals);
  return std::make_unique<ListedInClosedLoop>(run.arrivals, run.concurrency);
}

// `why`: of a run that does not get to its end. A row that the run names itself is used unless
// `cost` names another.
RunResult replay_if_possible(const MeasuredRun& run, const Catalog& catalog,
                             const CostSection& cost, std::string& why) {
  Workload workload;
  workload.source = requests_of(run);
  workload.facts.requests = static_cast<std::int64_t>(run.arrivals.size());
  workload.facts.shares_prefixes = run.pieces != nullptr;
  workload.account = [](WorkloadFacts&) {};
  Scenario scenario = run.scenario;
  scenario.cost = cost;
  if (cost.calibration == "auto") scenario.cost.calibration = run.scenario.cost.calibration;
  if (run.at_the_engine) scenario.engine.api_server_count = 0;
  RunResult result;
  try {
    result = headroom::run(scenario, catalog, std::move(workload));
  } catch (const ConfigError& error) {
    why = error.what();
    return result;
  }
  const RequestCounts& requests = result.summary.requests;
  if (!result.started) {
    why = fmt::format("does not start here: {}", result.budget.failure->message);
  } else if (requests.finished != requests.arrived) {
    why = fmt::format("{} of {} requests finish here", requests.finished, requests.arrived);
  }
  return result;
}

// A row names runs, or all runs whose names begin with a whole part or word.
bool is_fitted_on(const Calibration& calibration, const std::string& data_set) {
  return std::ranges::any_of(calibration.fitted_runs, [&](const std::string& fitted) {
    return data_set == fitted || (data_set.starts_with(fitted) && (data_set[fitted.size()] == '/' ||
                                                                   data_set[fitted.size()] == ' '));
  });
}

Situation situation_of(const MeasuredRun& run, const CostFacts& cost, const Catalog& catalog,
                       const std::vector<MeasuredRun>& all) {
  if (cost.level == "table") return Situation::tables;
  if (run.settings_differ) return Situation::other_command;
  if (cost.level == "kernels") return Situation::kernels;
  const Calibration& calibration = catalog.calibration(cost.calibration);
  if (calibration.device.empty()) return Situation::uncalibrated;
  if (is_fitted_on(calibration, run.data_set)) return Situation::self;
  const bool same_model = std::ranges::any_of(all, [&](const MeasuredRun& other) {
    return is_fitted_on(calibration, other.data_set) &&
           other.scenario.model == run.scenario.model &&
           other.scenario.engine.tensor_parallel_size == run.scenario.engine.tensor_parallel_size;
  });
  return same_model ? Situation::other_run : Situation::other_model;
}

struct KernelProfile {
  fs::path folder;
  KernelTimesMeta meta;
};

// Folders of device, model and engine lie between `tables` and the profiles.
constexpr int kLevelsOfTables = 16;

// Of all folders below `tables`, by path.
std::vector<KernelProfile> kernel_profiles(const fs::path& tables) {
  std::vector<KernelProfile> profiles;
  if (tables.empty()) return profiles;
  for (const fs::path& folder : folders_below(tables, kLevelsOfTables)) {
    if (!is_there(folder / "meta.yaml")) continue;
    profiles.push_back({folder, read_kernel_times_meta(folder)});
  }
  return profiles;
}

// The first folder whose kernels are of the run's model and device, for its ranks; empty: none.
fs::path profile_of(const MeasuredRun& run, const Catalog& catalog,
                    const std::vector<KernelProfile>& profiles) {
  const std::string sharded = fmt::format("tp{}", run.scenario.engine.tensor_parallel_size);
  const auto found = std::ranges::find_if(profiles, [&](const KernelProfile& profile) {
    return catalog.has_model(profile.meta.model) &&
           catalog.model(profile.meta.model).id == catalog.model(run.scenario.model).id &&
           profile.meta.gpu.ends_with(catalog.device(run.scenario.device.name).name) &&
           is_folder(profile.folder / sharded);
  });
  return found == profiles.end() ? fs::path() : found->folder;
}

// Tokens per second from the first token of any request to the last of all, first ones left out.
double decoding_rate(std::span<const RequestRecord> records) {
  TimeNs first_ns = kNever;
  TimeNs last_ns = 0;
  std::int64_t tokens = 0;
  for (const RequestRecord& record : records) {
    first_ns = std::min(first_ns, record.first_token_ns);
    last_ns = std::max(last_ns, record.finish_ns);
    tokens += record.output_tokens - 1;
  }
  return last_ns > first_ns
             ? static_cast<double>(tokens) * 1e9 / static_cast<double>(last_ns - first_ns)
             : 0;
}

std::optional<bool> lies_in_range(const ExpectedError& expected, const ScoredMetric& metric) {
  const auto range = std::ranges::find(expected.ranges, metric.name, &ErrorRange::metric);
  if (range == expected.ranges.end()) return std::nullopt;
  const double truth = metric.measured / metric.simulated - 1;
  return range->low <= truth && truth <= range->high;
}

ScoredRun scored_run(const MeasuredRun& run, const RunResult& result) {
  ScoredRun scored;
  scored.data_set = run.data_set;
  scored.label = run.label;
  scored.engine = result.resolved.engine->name;
  scored.cost_family = result.resolved.engine->cost_family;
  scored.device = result.resolved.device.id;
  scored.model = result.resolved.model.id;
  scored.model_class = class_of(result.resolved.model);
  scored.calibration = result.cost.calibration;
  scored.preemptions = result.summary.engine.preemptions;
  const auto records = std::span(result.recorder->records());
  ServingOptions options;
  options.client_latency = result.cost.client_latency;
  const ServingMetrics warm = serving_metrics(
      records.subspan(static_cast<std::size_t>(run.cold_requests)), nullptr, options);
  for (const MeasuredMetric& metric : run.measured) {
    double simulated = metric_of(warm, metric.name);
    if (metric.name == "output_throughput") {
      simulated =
          run.decoding_rate ? decoding_rate(records) : result.summary.metrics.output_throughput;
    }
    scored.metrics.push_back({metric.name, metric.value, simulated, {}});
    scored.metrics.back().in_range = lies_in_range(result.expected_error, scored.metrics.back());
  }
  return scored;
}

}  // namespace

RunValidation validate_runs(const ValidationOptions& options, const Catalog& catalog) {
  MeasuredRuns measured = read_measured_runs(options.directory, catalog);
  const std::vector<KernelProfile> profiles = kernel_profiles(options.tables);
  std::vector<ScoredRun> scored(measured.runs.size());
  std::vector<std::string> why(measured.runs.size());
  in_parallel(measured.runs.size(), options.threads, [&](std::size_t i) {
    const MeasuredRun& run = measured.runs[i];
    CostSection cost;
    cost.level = options.level;
    if (!options.tables.empty()) {
      cost.level = "table";
      cost.tables = profile_of(run, catalog, profiles).string();
      if (cost.tables.empty()) {
        why[i] = "no kernel times of its model and device";
        return;
      }
    }
    const RunResult result = replay_if_possible(run, catalog, cost, why[i]);
    if (!why[i].empty()) return;
    scored[i] = scored_run(run, result);
    scored[i].situation = situation_of(run, result.cost, catalog, measured.runs);
  });
  RunValidation validation;
  validation.excluded = std::move(measured.excluded);
  for (std::size_t i = 0; i < scored.size(); ++i) {
    if (why[i].empty()) {
      validation.runs.push_back(std::move(scored[i]));
    } else {
      validation.excluded.push_back({measured.runs[i].data_set, std::move(why[i])});
    }
  }
  return validation;
}

std::string class_of(const ModelSpec& model) {
  const auto has = [&](auto part) { return std::ranges::any_of(model.kinds, part); };
  std::string name;
  const auto add = [&](bool is_such, std::string_view word) {
    if (is_such) name += fmt::format("{}{}", name.empty() ? "" : " ", word);
  };
  add(has_states(model), "recurrent");
  add(has([](const LayerKind& kind) { return kind.attention && kind.attention->indexer; }),
      "sparse");
  add(has([](const LayerKind& kind) { return kind.attention && kind.attention->mla; }), "latent");
  add(has_experts(model), "experts");
  return name.empty() ? "dense" : name;
}

RunResult replay(const MeasuredRun& run, const Catalog& catalog, const std::string& calibration) {
  std::string why;
  CostSection cost;
  cost.level = "calibrated";
  cost.calibration = calibration;
  RunResult result = replay_if_possible(run, catalog, cost, why);
  if (!why.empty())
    throw ConfigError(Complaint{.origin = run.data_set, .problem = fmt::format("{}", why)});
  return result;
}

ScoredRun replay_and_score(const MeasuredRun& run, const Catalog& catalog,
                           const std::string& calibration) {
  ScoredRun scored = scored_run(run, replay(run, catalog, calibration));
  scored.situation = Situation::self;
  return scored;
}

std::optional<ScoredRun> scored_by_kernels(const MeasuredRun& run, const Catalog& catalog) {
  std::string why;
  CostSection cost;
  cost.level = "kernels";
  const RunResult result = replay_if_possible(run, catalog, cost, why);
  if (!why.empty()) return std::nullopt;
  ScoredRun scored = scored_run(run, result);
  scored.situation = Situation::kernels;
  return scored;
}

namespace {

// All of them but a share at each end; between two the line.
std::optional<ObservedErrors::Range> range_of(std::vector<double> errors, double left_out) {
  if (errors.empty()) return std::nullopt;
  std::ranges::sort(errors);
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(errors.size() - 1);
    const auto low = static_cast<std::size_t>(place);
    const std::size_t high = std::min(low + 1, errors.size() - 1);
    return errors[low] + (errors[high] - errors[low]) * (place - static_cast<double>(low));
  };
  return ObservedErrors::Range{at(left_out), at(1 - left_out)};
}

}  // namespace

std::vector<ObservedErrors> observed_errors(const std::vector<ScoredRun>& runs, double left_out) {
  struct OfModel {
    std::int64_t runs = 0;
    std::map<std::string_view, std::vector<double>> errors;
  };
  std::map<std::string, OfModel> by_model;
  for (const ScoredRun& run : runs) {
    OfModel& own = by_model[run.model];
    ++own.runs;
    for (const ScoredMetric& metric : run.metrics) {
      own.errors[metric.name].push_back(metric.error());
    }
  }
  std::vector<ObservedErrors> list;
  list.reserve(by_model.size());
  for (auto& [model, own] : by_model) {
    ObservedErrors& errors = list.emplace_back();
    errors.models = {model};
    errors.runs = own.runs;
    errors.ttft = range_of(std::move(own.errors["mean_ttft_ms"]), left_out);
    errors.tpot = range_of(std::move(own.errors["mean_tpot_ms"]), left_out);
    errors.throughput = range_of(std::move(own.errors["output_throughput"]), left_out);
  }
  return list;
}

namespace {

void add(const ScoredRun& run, const ScoredMetric& metric, MetricScore& score) {
  const double error = metric.error();
  if (score.runs == 0 || std::abs(error) > std::abs(score.worst)) {
    score.worst = error;
    score.worst_run = run.data_set;
  }
  ++score.runs;
  score.mean_error += error;
  score.mean += std::abs(error);
  score.with_range += metric.in_range ? 1 : 0;
  score.in_range += metric.in_range.value_or(false) ? 1 : 0;
}

}  // namespace

MetricScore score_of(std::span<const ScoredRun> runs, std::string_view metric,
                     const std::function<bool(const ScoredRun&)>& counts) {
  MetricScore score;
  std::vector<double> errors;
  for (const ScoredRun& run : runs) {
    if (!counts(run)) continue;
    for (const ScoredMetric& scored : run.metrics) {
      if (scored.name != metric) continue;
      add(run, scored, score);
      errors.push_back(scored.error());
    }
  }
  if (errors.empty()) return score;
  score.mean_error /= static_cast<double>(score.runs);
  score.mean /= static_cast<double>(score.runs);
  score.median_error = median_of(errors);
  for (double& error : errors) error = std::abs(error);
  score.median = median_of(std::move(errors));
  return score;
}

bool RunClass::has(const ScoredRun& run) const {
  return run.situation != Situation::other_command && run.engine == engine &&
         run.device == device && run.model_class == model_class;
}

std::vector<RunClass> classes_of(std::span<const ScoredRun> runs) {
  std::set<RunClass> classes;
  for (const ScoredRun& run : runs) {
    if (run.situation == Situation::other_command) continue;
    classes.insert({run.engine, run.device, run.model_class});
  }
  return {classes.begin(), classes.end()};
}

}  // namespace headroom
