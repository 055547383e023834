#include "sim/report/text/calibrate_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "sim/report/json/json_text.hpp"
#include "sim/report/text/capacity_report.hpp"
#include "sim/report/text/memory_validation_report.hpp"
#include "sim/report/text/run_validation_report.hpp"
#include "sim/report/text/wrapped_text.hpp"

namespace headroom {
namespace {

using TableRow = std::vector<std::string>;

// `figures`: what was fitted on.
std::string constants_text(const ConstantsFit& fit, std::string_view figures) {
  std::vector<TableRow> table{{"constant", "before", "fitted", "95 % +-", ""}};
  for (const FittedConstant& constant : fit.constants) {
    std::string note;
    if (!constant.identified) {
      note = fmt::format("these {} do not determine it: unchanged", figures);
    } else if (constant.at_limit) {
      note = "at the limit of the measured range";
    }
    table.push_back({std::string(constant.field->key), fmt::format("{:.4g}", constant.before),
                     fmt::format("{:.4g}", constant.value),
                     constant.identified ? fmt::format("{:.2g}", constant.interval) : "-", note});
  }
  return table_text(table, kValidationWidth);
}

std::string errors_text(const CalibrationFit& fit) {
  std::vector<TableRow> table{{"run", "metric", "before", "after", "left out"}};
  for (std::size_t i = 0; i < fit.after.size(); ++i) {
    const ScoredRun& run = fit.after[i];
    for (std::size_t m = 0; m < run.metrics.size(); ++m) {
      table.push_back(
          {m == 0 ? run.data_set : "", std::string(run.metrics[m].name),
           error_text(fit.before[i].metrics[m].error()), error_text(run.metrics[m].error()),
           fit.left_out.empty() ? "-" : error_text(fit.left_out[i].metrics[m].error())});
    }
  }
  return table_text(table, kValidationWidth);
}

std::string groups_text(const StepTimeFit& fit) {
  std::vector<TableRow> table{
      {"steps", "count", "scatter", "before", "after", "worst after", "left out", "worst"}};
  const auto size_text = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
  for (const StepGroup& group : fit.groups) {
    table.push_back(
        {fmt::format("{}, {}", group.model, name_of(group.kind)), std::to_string(group.steps),
         size_text(group.scatter), size_text(group.before.mean), size_text(group.after.mean),
         error_text(group.after.worst), fit.cross_validated ? size_text(group.left_out.mean) : "-",
         fit.cross_validated ? error_text(group.left_out.worst) : "-"});
  }
  return table_text(table, kValidationWidth);
}

// An error in per cent, to a tenth.
Json tenth(double error) { return Json::parse(fmt::format("{:.1f}", 100 * error)); }

// Four digits are more than any fit knows.
Json four_digits(double value) { return Json::parse(fmt::format("{:.4g}", value)); }

Json observed_json(const ObservedErrors& errors) {
  Json observed = {{"models", errors.models}, {"runs", errors.runs}};
  const auto add = [&](const char* name, const std::optional<ObservedErrors::Range>& range) {
    if (range) observed[fmt::format("{}_percent", name)] = {tenth(range->low), tenth(range->high)};
  };
  add("mean_ttft_ms", errors.ttft);
  add("mean_tpot_ms", errors.tpot);
  add("output_throughput", errors.throughput);
  return observed;
}

std::string joint_constants_text(const JointFit& fit) {
  std::vector<TableRow> table{{"constant", "of", "before", "fitted", "95 % +-"}};
  for (const JointConstant& constant : fit.constants) {
    table.push_back({std::string(constant.field->key),
                     constant.engine.empty() ? "all" : constant.engine,
                     fmt::format("{:.4g}", constant.before), fmt::format("{:.4g}", constant.value),
                     fmt::format("{:.2g}", constant.interval)});
  }
  return table_text(table, kValidationWidth);
}

}  // namespace

std::string calibrate_text(const CalibrationFit& fit) {
  std::string out = constants_text(fit, "runs") + "\n" + errors_text(fit);
  out += fmt::format(
      "\nRoot mean square of the weighted log errors: {:.4f} before, {:.4f} after ({} "
      "replays).\nLeft out: errors of a run with constants fitted to the other runs.\n",
      fit.rms_before, fit.rms_after, fit.replays);
  return out;
}

std::string calibrate_text(const StepTimeFit& fit) {
  const std::string notes = fmt::format(
      "Mean |error| of priced against measured times; root mean square of the log errors: {:.4f} "
      "before, {:.4f} after. Left out: errors of a model with constants fitted to the others. "
      "Scatter: median over the repeats of a step. Steps on a device do not show host, client or "
      "links, so those constants are unchanged. To use the row {}, set cost.calibration to its "
      "name.",
      fit.rms_before, fit.rms_after, fit.calibration.id);
  return wrapped("", fit.measured, 0, kValidationWidth) + "\n" + constants_text(fit, "steps") +
         "\n" + groups_text(fit) + "\n" + wrapped("", notes, 0, kValidationWidth);
}

std::string calibrations_file(const Calibration& c) {
  Json row = {{"id", c.id}};
  if (c.device.empty()) {
    row["hopper_or_later"] = c.hopper_or_later;
  } else {
    row["device"] = c.device;
    row["engine"] = c.engine;
    if (!c.weights.empty()) row["weights"] = c.weights;
    if (!c.engine_versions.empty()) row["engine_versions"] = c.engine_versions;
    if (c.first_version) {
      row["first_version"] = to_string(*c.first_version);
      row["last_version"] = to_string(*c.last_version);
    }
    if (!c.only_models.empty()) row["only_models"] = c.only_models;
    if (c.only_dense) row["only_dense"] = true;
    if (c.prompts_by_kernels) row["prompts_by_kernels"] = true;
    row["bandwidth_gb_per_s"] = c.bandwidth_bytes_per_s / 1e9;
    row["peak_tflops"] = c.peak_flops / 1e12;
  }
  row["mode"] = name_of(c.mode);
  for (const CalibrationField& field : calibration_fields()) {
    row[std::string(field.key)] = four_digits(c.*field.member / field.unit);
  }
  if (!c.fitted_runs.empty()) row["fitted_runs"] = c.fitted_runs;
  for (const ObservedErrors& errors : c.observed) row["observed"].push_back(observed_json(errors));
  for (const ObservedErrors& errors : c.observed_elsewhere) {
    row["observed_elsewhere"].push_back(observed_json(errors));
  }
  row["source"] = c.source;
  return json_text(
      {{"about", "Fitted by headroom calibrate."}, {"calibrations", Json::array({row})}});
}

std::string calibrate_text(const JointFit& fit) {
  std::string out = joint_constants_text(fit);
  const auto add = [&](std::string_view title, const std::vector<ScoredRun>& runs) {
    if (!runs.empty()) out += fmt::format("\n{}\n{}", title, class_scores_text({runs, {}}));
  };
  add("Before:", fit.before);
  add("Fitted on all runs:", fit.after);
  add("Each model with constants from the other models:", fit.without_model);
  add("Each device with constants from the other devices:", fit.without_device);
  add("Each data set with constants from the other data sets:", fit.without_source);
  return out + fmt::format(
                   "\nMean and median of the error's size; bias: the median error ({} "
                   "replays).\n",
                   fit.replays);
}

std::string between_kernels_file(const std::vector<BetweenKernels>& rows) {
  Json list = Json::array();
  for (const BetweenKernels& between : rows) {
    Json row = {{"id", between.id}};
    for (const BetweenField& field : between_fields()) {
      row[std::string(field.key)] = four_digits(between.*field.member / field.unit);
    }
    row["observed"] = Json::array();
    for (const ObservedErrors& errors : between.observed) {
      row["observed"].push_back(observed_json(errors));
    }
    row["source"] = between.source;
    list.push_back(std::move(row));
  }
  return json_text({{"about",
                     "What steps take between and beside kernels (docs/kernels.md), one "
                     "row per engine family. observed: 80 of 100 replayed runs lay "
                     "within, with constants fitted without their model."},
                    {"between_kernels", list}});
}

}  // namespace headroom
