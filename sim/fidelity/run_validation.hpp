#pragma once
// `headroom validate runs DIR`: measured runs replayed with their recorded settings. Every run is
// scored by every metric that was measured, or excluded with the reason.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/fidelity/measured_run.hpp"
#include "sim/resolve/run.hpp"

namespace headroom {

// How far a run is from those that its constants were fitted on.
enum class Situation : std::uint8_t {
  self,           // the constants were fitted on this run
  other_run,      // on other runs of this model, device and engine
  other_model,    // on another model, or tensor-parallel size, of this device and engine
  uncalibrated,   // generic constants
  kernels,        // the library of measured kernels and what lies between them
  other_command,  // likewise, but the command of the run itself is not known
  tables,         // priced from kernels that were measured one by one
};
inline constexpr std::array<std::string_view, 7> kSituationNames{
    "self",    "other run",     "other model",  "uncalibrated",
    "kernels", "other command", "kernel tables"};
[[nodiscard]] constexpr std::string_view name_of(Situation situation) {
  return kSituationNames[static_cast<std::size_t>(situation)];
}

struct ScoredMetric {
  std::string_view name;  // of `vllm bench serve`
  double measured = 0;
  double simulated = 0;
  // Whether the truth lay in the range that the result printed; empty: it printed none.
  std::optional<bool> in_range;
  [[nodiscard]] double error() const { return simulated / measured - 1; }
};

struct ScoredRun {
  std::string data_set;
  std::string label;
  Situation situation = Situation::uncalibrated;
  std::string engine;
  std::string cost_family;  // of the engine: whose constants price it
  std::string device;
  std::string model;        // catalog id
  std::string model_class;  // class_of() it
  std::string calibration;  // row of constants, or whose kernels
  std::vector<ScoredMetric> metrics;
  std::int64_t preemptions = 0;
};

struct RunValidation {
  std::vector<ScoredRun> runs;
  std::vector<ExcludedRun> excluded;
};

struct ValidationOptions {
  std::filesystem::path directory = {};
  std::string level = "auto";  // cost.level of all replays: auto, calibrated or kernels
  // A folder of kernel profiles (hardware/cost/kernel_times.hpp) by model and device: runs are
  // priced from those, whatever `level`; runs without one are excluded. Empty: none.
  std::filesystem::path tables = {};
  std::size_t threads = 1;
};

// Runs in the order in which they are read. ConfigError, DataError: a folder or a file in it is
// wrong.
[[nodiscard]] RunValidation validate_runs(const ValidationOptions& options, const Catalog& catalog);

// "dense", "experts", "latent experts", "recurrent experts" ...: what its layers have besides
// plain attention and an MLP.
[[nodiscard]] std::string class_of(const ModelSpec& model);

// A measured run with its recorded settings, to its end. ConfigError when it does not get there.
[[nodiscard]] RunResult replay(const MeasuredRun& run, const Catalog& catalog,
                               const std::string& calibration = "auto");

// One run with a given row of constants. ConfigError when it does not get to its end.
[[nodiscard]] ScoredRun replay_and_score(const MeasuredRun& run, const Catalog& catalog,
                                         const std::string& calibration);

// One run whatever prices it, by measured kernels. Nothing where they do not, or where it does not
// get to its end.
[[nodiscard]] std::optional<ScoredRun> scored_by_kernels(const MeasuredRun& run,
                                                         const Catalog& catalog);

// The errors of scored runs, one entry per model in the order of their names; of each metric the
// range of all but a share `left_out` (below 0.5) at each end.
[[nodiscard]] std::vector<ObservedErrors> observed_errors(const std::vector<ScoredRun>& runs,
                                                          double left_out = 0);

// One metric over some runs.
struct MetricScore {
  std::int64_t runs = 0;
  double mean_error = 0;    // signed
  double median_error = 0;  // signed
  double mean = 0;          // of |error|
  double median = 0;        // of |error|
  double worst = 0;         // with its sign
  std::string worst_run;
  std::int64_t with_range = 0;  // whose result printed a range,
  std::int64_t in_range = 0;    // and whose truth lay in it
};
[[nodiscard]] MetricScore score_of(std::span<const ScoredRun> runs, std::string_view metric,
                                   const std::function<bool(const ScoredRun&)>& counts);

// The runs of an engine, a device and a class of models whose commands are known.
struct RunClass {
  std::string engine;
  std::string device;
  std::string model_class;
  [[nodiscard]] bool has(const ScoredRun& run) const;
  friend auto operator<=>(const RunClass&, const RunClass&) = default;
};
[[nodiscard]] std::vector<RunClass> classes_of(std::span<const ScoredRun> runs);  // in order

}  // namespace headroom
