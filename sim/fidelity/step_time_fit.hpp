#pragma once
// `headroom calibrate FILE`: chosen constants of a step-cost row, fitted on times of single steps
// by pricing each of them; nothing is replayed (sim/fidelity/bounded_fit.hpp: the fit). Every step
// counts alike. Cross-validation: the steps of each model are scored with constants fitted on the
// other models.
//
// Steps are timed on the device, as CUDA graphs: host terms are priced as 0, so that neither they
// nor the client's latency nor, on one device, the all-reduce can be identified. The result keeps
// those of the row that the fit began with.

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/fidelity/bounded_fit.hpp"
#include "sim/fidelity/step_times.hpp"

namespace headroom {

// Engine of a fitted row: kernels of plain PyTorch, which no serving engine runs. No scenario finds
// such a row by itself; it is named in `cost.calibration`.
inline constexpr const char* kProbeEngine = "torch-probe";

struct StepTimeOptions {
  std::string calibration;  // row to start from
  std::string device;       // catalog id; empty: the row's
  std::vector<std::string> fit;
};

struct StepErrors {  // price against measured time
  double mean = 0;   // of |error|
  double worst = 0;  // with its sign
};

// Steps of one kind of one model.
struct StepGroup {
  std::string model;
  StepKind kind = StepKind::decode;
  std::int64_t steps = 0;
  double scatter = 0;  // median of (most - least) / median over its steps
  StepErrors before;
  StepErrors after;
  StepErrors left_out;
};

struct StepTimeFit : ConstantsFit {
  std::string measured;           // what the times are of, in one line
  std::vector<StepGroup> groups;  // by model and kind
  bool cross_validated = false;   // with several models
};

// ConfigError: an unknown row, device or constant, another device than the measured one, or fewer
// steps than constants.
[[nodiscard]] StepTimeFit fit_step_times(const StepTimeOptions& options, const StepTimes& times,
                                         const Catalog& catalog);

}  // namespace headroom
