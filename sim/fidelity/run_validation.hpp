#pragma once
// `headroom validate DIR`: measured runs replayed with their recorded settings. Every run is scored
// by every metric that was measured, or excluded with the reason.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/fidelity/measured_run.hpp"
#include "sim/resolve/run.hpp"

namespace headroom {

// How far a run is from those that its constants were fitted on.
enum class Situation : std::uint8_t {
  self,          // the constants were fitted on this run
  other_run,     // on other runs of this model, device and engine
  other_model,   // on another model, or tensor-parallel size, of this device and engine
  uncalibrated,  // generic constants
  tables,        // priced from kernels that were measured one by one
};
inline constexpr std::array<std::string_view, 5> kSituationNames{"self", "other run", "other model",
                                                                 "uncalibrated", "kernel tables"};
[[nodiscard]] constexpr std::string_view name_of(Situation situation) {
  return kSituationNames[static_cast<std::size_t>(situation)];
}

struct ScoredMetric {
  std::string_view name;  // of `vllm bench serve`
  double measured = 0;
  double simulated = 0;
  [[nodiscard]] double error() const { return simulated / measured - 1; }
};

struct ScoredRun {
  std::string data_set;
  std::string label;
  Situation situation = Situation::uncalibrated;
  std::string model;  // catalog id
  std::string calibration;
  std::vector<ScoredMetric> metrics;
  std::int64_t preemptions = 0;
};

struct RunValidation {
  std::vector<ScoredRun> runs;
  std::vector<ExcludedRun> excluded;
};

// With `tables`, a folder of kernel profiles (hardware/cost/kernel_times.hpp) by model and device,
// runs are priced from those; runs without one are excluded. ConfigError, DataError: a folder or a
// file in it is wrong.
[[nodiscard]] RunValidation validate_runs(const std::filesystem::path& directory,
                                          const Catalog& catalog,
                                          const std::filesystem::path& tables = {});

// A measured run with its recorded settings, to its end. ConfigError when it does not get there.
[[nodiscard]] RunResult replay(const MeasuredRun& run, const Catalog& catalog,
                               const std::string& calibration = "auto");

// One run with a given row of constants. ConfigError when it does not get to its end.
[[nodiscard]] ScoredRun replay_and_score(const MeasuredRun& run, const Catalog& catalog,
                                         const std::string& calibration);

// The errors of scored runs, one entry per model in the order of their names.
[[nodiscard]] std::vector<ObservedErrors> observed_errors(const std::vector<ScoredRun>& runs);

// One metric over the runs of a situation.
struct MetricScore {
  std::int64_t runs = 0;
  double mean = 0;  // of |error|
  double median = 0;
  double worst = 0;  // with its sign
  std::string_view worst_run;
};
[[nodiscard]] MetricScore score_of(const RunValidation& validation, Situation situation,
                                   std::string_view metric);

}  // namespace headroom
