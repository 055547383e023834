#pragma once
// What a step takes beside its kernels, from a calibration row: what ranks send each other, a
// constant on the device, and the host.

#include <cstdint>

#include "hardware/calibration.hpp"
#include "hardware/cost/interconnect.hpp"
#include "hardware/device.hpp"
#include "hardware/llm/model_spec.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

// Raises a price of device work to `host` ticks, as time of the host that the device does not
// cover. That part shrinks as contexts grow, until the device is the longer one: there the price
// ends.
void take_at_least(Ticks host, StepPrice& price);

struct Overheads {
  EngineMode mode = EngineMode::sync;
  CommunicationTicks sent;
  Ticks step = 0;
  Ticks host_step = 0;
  Ticks host_row = 0;  // per sequence

  // `all_tokens`: of all data ranks.
  [[nodiscard]] Ticks communication(TokenCount tokens, TokenCount all_tokens) const {
    return sent.step + sent.token * tokens + sent.all_token * all_tokens;
  }
  // To a price of everything else. A synchronous engine adds its host time. An asynchronous one
  // hides it behind the device (take_at_least).
  void add_host(const StepShape& shape, StepPrice& price) const;
  // Ticks of all of them together in a step, which may be too many for Ticks.
  [[nodiscard]] double sum(double rows, double tokens) const;
};

// ConfigError when there are several ranks and the device has no link in the catalog.
[[nodiscard]] Overheads overheads_of(const ModelSpec& model, const DeviceSpec& device,
                                     const Calibration& calibration,
                                     const ParallelOptions& parallel);

}  // namespace headroom
