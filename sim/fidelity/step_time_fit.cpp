#include "sim/fidelity/step_time_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>
#include <utility>

#include "hardware/cost/roofline.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {
namespace {

constexpr double kTicksPerUs = 1e3 * static_cast<double>(kTicksPerNs);
constexpr double kNarrowStep = 0.02;  // prices are smooth in every constant
// Cards of one name differ by what the driver keeps for itself; other models of a family by more.
constexpr double kMemoryTolerance = 0.1;

// Prices of the samples with a row's constants.
class Prices {
 public:
  Prices(const StepTimes& times, const DeviceSpec& device) : times_(times), device_(device) {
    samples_.resize(times.models.size());
    limits_.resize(times.models.size(), CostLimits{1, 1, 1, 1});
    for (std::size_t i = 0; i < times.samples.size(); ++i) {
      const StepSample& sample = times.samples[i];
      samples_[sample.model].push_back(i);
      CostLimits& limits = limits_[sample.model];
      const StepShape& shape = sample.shape;
      const auto at_least = [](std::int64_t& limit, std::int64_t value) {
        limit = std::max(limit, value);
      };
      at_least(limits.max_num_seqs, shape.decode_rows + shape.chunk_rows);
      at_least(limits.max_step_tokens, shape.decode_tokens() + shape.chunk_tokens);
      at_least(limits.max_model_len, sample.longest_tokens);
      at_least(limits.max_context_tokens, shape.decode_context + shape.chunk_context);
    }
  }

  // Places of a model's samples.
  [[nodiscard]] const std::vector<std::size_t>& samples_of(std::size_t model) const {
    return samples_[model];
  }
  // In the order of samples_of(model).
  [[nodiscard]] std::vector<double> microseconds(const Calibration& row, std::size_t model) const {
    Calibration on_device = row;
    on_device.host_step_ns = 0;
    on_device.host_row_ns = 0;
    RooflineOptions options;
    options.kv = times_.models[model].dtype;
    options.limits = limits_[model];
    const RooflineCost cost(times_.models[model], device_, on_device, options);
    std::vector<double> prices;
    StepPrice price;
    for (const std::size_t i : samples_[model]) {
      cost.price(times_.samples[i].shape, price);
      prices.push_back(static_cast<double>(price.base) / kTicksPerUs);
    }
    return prices;
  }
  [[nodiscard]] std::vector<double> residuals(const Calibration& row,
                                              std::span<const std::size_t> models) const {
    std::vector<double> errors;
    for (const std::size_t model : models) {
      const std::vector<double> prices = microseconds(row, model);
      for (std::size_t k = 0; k < prices.size(); ++k) {
        errors.push_back(std::log(prices[k] / times_.samples[samples_[model][k]].median_us));
      }
    }
    return errors;
  }

 private:
  const StepTimes& times_;
  const DeviceSpec& device_;
  std::vector<std::vector<std::size_t>> samples_;  // by model
  std::vector<CostLimits> limits_;
};

const DeviceSpec& device_of(const StepTimeOptions& options, const Calibration& row,
                            const StepTimes& times, const Catalog& catalog) {
  if (options.device.empty() && row.device.empty()) {
    throw ConfigError(
        fmt::format("calibrate: --device is missing: name the device of `headroom list devices` "
                    "that \"{}\" is (row {} is for any device)",
                    times.device, row.id));
  }
  const DeviceSpec& device = catalog.device(options.device.empty() ? row.device : options.device);
  check_fits(row, device);
  const auto measured = static_cast<double>(times.device_memory_bytes);
  const auto reported = static_cast<double>(device.memory_reported_bytes);
  if (std::abs(measured - reported) > kMemoryTolerance * reported) {
    throw ConfigError(Complaint{.origin = times.file,
                                .pointer = "/device/memory_total_bytes",
                                .value = fmt::to_string(times.device_memory_bytes),
                                .problem = fmt::format("not a {}, which reports {}", device.id,
                                                       device.memory_reported_bytes)});
  }
  return device;
}

// The row for this device; constants that are not fitted stay those of `row`.
Calibration row_to_fit(const Calibration& row, const DeviceSpec& device, const StepTimes& times) {
  if (!row.weights.empty()) {
    throw ConfigError(
        fmt::format("calibration {} is for {} weights, but the steps of {} have {} weights", row.id,
                    row.weights, times.file, name_of(main_dtype(times.models.front()))));
  }
  Calibration start = row;
  start.id = fmt::format("{}-{}-{}", device.id, kProbeEngine, name_of(row.mode));
  start.device = device.id;
  start.hopper_or_later = false;
  start.engine = kProbeEngine;
  start.engine_versions = times.torch_version;
  start.bandwidth_bytes_per_s = device.bandwidth_bytes_per_s;
  start.peak_flops = device.fp16_flops;
  start.observed.clear();  // errors of runs with the row's own constants
  return start;
}

std::string measured_text(const StepTimes& times) {
  return fmt::format("{}{} steps on {}, torch {}, {}",
                     times.made_up ? "MADE UP, not measured: " : "", times.samples.size(),
                     times.device, times.torch_version, times.date);
}

std::string source_of(const StepTimes& times, const ConstantsFit& fit, const Calibration& row) {
  std::string fitted;
  for (const FittedConstant& constant : fit.constants) {
    if (!constant.identified) continue;
    fitted += fmt::format("{}{}", fitted.empty() ? "" : ", ", constant.field->key);
  }
  return fmt::format(
      "{} ({}); fitted: {}; all other constants, including host, client and links, as in {}",
      measured_text(times), std::filesystem::path(times.file).filename().string(),
      fitted.empty() ? "nothing" : fitted, row.id);
}

// Errors of one group: `places` lists which of a model's prices belong to it.
StepErrors errors_of(const StepTimes& times, const std::vector<std::size_t>& samples,
                     const std::vector<double>& prices, const std::vector<std::size_t>& places) {
  StepErrors errors;
  for (const std::size_t k : places) {
    const double error = prices[k] / times.samples[samples[k]].median_us - 1;
    errors.mean += std::abs(error) / static_cast<double>(places.size());
    if (std::abs(error) > std::abs(errors.worst)) errors.worst = error;
  }
  return errors;
}

double scatter_of(const StepTimes& times, const std::vector<std::size_t>& samples,
                  const std::vector<std::size_t>& places) {
  std::vector<double> widths;
  for (const std::size_t k : places) {
    const StepSample& sample = times.samples[samples[k]];
    widths.push_back((sample.most_us - sample.least_us) / sample.median_us);
  }
  std::ranges::sort(widths);
  return widths[widths.size() / 2];
}

void add_groups(const StepTimes& times, const Prices& prices, const Calibration& before,
                const std::vector<Calibration>& without, StepTimeFit& result) {
  for (std::size_t model = 0; model < times.models.size(); ++model) {
    const std::vector<std::size_t>& samples = prices.samples_of(model);
    std::map<StepKind, std::vector<std::size_t>> by_kind;
    for (std::size_t k = 0; k < samples.size(); ++k) {
      by_kind[times.samples[samples[k]].kind()].push_back(k);
    }
    const std::vector<double> old_prices = prices.microseconds(before, model);
    const std::vector<double> new_prices = prices.microseconds(result.calibration, model);
    std::vector<double> blind;
    if (!without.empty()) blind = prices.microseconds(without[model], model);
    for (const auto& [kind, places] : by_kind) {
      StepGroup group;
      group.model = times.models[model].id;
      group.kind = kind;
      group.steps = static_cast<std::int64_t>(places.size());
      group.scatter = scatter_of(times, samples, places);
      group.before = errors_of(times, samples, old_prices, places);
      group.after = errors_of(times, samples, new_prices, places);
      if (!without.empty()) group.left_out = errors_of(times, samples, blind, places);
      result.groups.push_back(std::move(group));
    }
  }
}

}  // namespace

StepTimeFit fit_step_times(const StepTimeOptions& options, const StepTimes& times,
                           const Catalog& catalog) {
  const Calibration& row = catalog.calibration(options.calibration);
  const DeviceSpec& device = device_of(options, row, times, catalog);
  FitProblem problem;
  problem.row = row_to_fit(row, device, times);
  problem.fields = constants_to_fit(options.fit);
  problem.groups = times.models.size();
  problem.derivative_step = kNarrowStep;
  const Prices prices(times, device);
  problem.residuals = [&prices](const Calibration& at, std::span<const std::size_t> models) {
    return prices.residuals(at, models);
  };

  StepTimeFit result{fit_constants(problem), measured_text(times), {}, times.models.size() > 1};
  result.calibration.source = source_of(times, result, row);
  add_groups(times, prices, problem.row, fit_without_each(problem), result);
  return result;
}

}  // namespace headroom
