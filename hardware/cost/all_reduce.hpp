#pragma once
// The tensor-parallel all-reduces of a step.

#include <cstdint>

#include "hardware/calibration.hpp"
#include "hardware/device.hpp"
#include "hardware/llm/model_spec.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {

struct AllReduceTicks {
  Ticks step = 0;   // latency of all of them
  Ticks token = 0;  // transfer, per token of the step
};

// Two per layer, each moving 2 (tp - 1) / tp of a 16-bit hidden state per rank, over the
// calibration's link constants (FIDELITY.md 1, t_comm). Nothing for one rank. ConfigError when the
// device has no link in the catalog.
[[nodiscard]] AllReduceTicks all_reduce_ticks(const ModelSpec& model, const DeviceSpec& device,
                                              const Calibration& calibration, std::int64_t tp);

}  // namespace headroom
