#pragma once
// `headroom calibrate DIR --between-kernels`: the constants of all engines that are priced by
// measured kernels (hardware/between_kernels.hpp), fitted at once on every measured run that such
// kernels price, and what they are worth on runs that they have not seen.
//
// Least squares of log(simulated / measured) by Gauss-Newton steps. TTFT has half the weight of
// the others; the runs of an engine, a device and a model together count as the root of their
// number, so that no data set decides alone; an error beyond 20 % counts less and less (Huber).
// A constant stands for all engines unless it is named as one that each has for itself; those are
// drawn towards their mean over the engines.
//
// Left out: each group of runs (a model, a device, a data set) is scored with constants from all
// others, by one more step from the common solution, replayed. A constant of all engines that only
// the runs left out see keeps its value.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "hardware/between_fields.hpp"
#include "hardware/catalog.hpp"
#include "sim/fidelity/run_validation.hpp"

namespace headroom {

struct JointFitOptions {
  std::filesystem::path directory;
  std::vector<std::string> runs = {};    // data sets, as calibrate() takes them; empty: all
  std::vector<std::string> unseen = {};  // data sets to score alone: no constant learns of them
  std::vector<std::string> fit = {};     // keys of between_kernels.json
  // Those of `fit` that each engine has for itself; "request_ms@trtllm": that this one has.
  std::vector<std::string> own = {};
  // How strongly constants are drawn to where they started and to their mean over the engines: 1 is
  // worth an error of 10 % of one run per spread. Above 0, so that constants that no run sees stay.
  double ties = 1;
  std::size_t threads = 1;
};

struct JointConstant {
  const BetweenField* field = nullptr;
  std::string engine;  // cost family; empty: of all
  double before = 0;   // in the file's unit, as the others; of all engines: their mean
  double value = 0;
  double interval = 0;  // half of the 95 % interval, from the residuals that remain
};

struct JointFit {
  std::vector<BetweenKernels> rows;  // with the fitted constants; `observed`: by models left out
  std::vector<JointConstant> constants;
  std::vector<ScoredRun> before;
  std::vector<ScoredRun> after;
  std::vector<ScoredRun> without_model;  // each run with constants fitted without its model
  std::vector<ScoredRun> without_device;
  std::vector<ScoredRun> without_source;
  std::int64_t replays = 0;
};

// ConfigError: an unknown constant, engine or data set, one of `own` that is not fitted, no run
// that kernels price, none of them to fit on, ties that are not above 0 or beyond 1,000.
[[nodiscard]] JointFit fit_between_kernels(const JointFitOptions& options, const Catalog& catalog);

}  // namespace headroom
