#include "hardware/cost/overheads.hpp"

#include <algorithm>

#include "hardware/cost/ticks.hpp"
#include "sim/kernel/likely.hpp"

namespace headroom {

void take_at_least(Ticks host, StepPrice& price) {
  const Ticks exposed = host - price.base;
  if (exposed <= 0) return;
  price.base_terms[CostTerm::host] = exposed;
  price.base = host;
  if (price.slope == 0) return;
  price.valid_steps = std::min(price.valid_steps, exposed / price.slope + 1);
  price.slope_terms.host = -price.slope;
  price.slope = 0;
}

void Overheads::add_host(const StepShape& shape, StepPrice& price) const {
  const Ticks host = host_step + host_row * (shape.decode_rows + shape.chunk_rows);
  if (mostly(host == 0)) return;
  if (mode == EngineMode::sync) {
    price.base_terms[CostTerm::host] = host;
    price.base += host;
    return;
  }
  take_at_least(host, price);
}

double Overheads::sum(double rows, double tokens) const {
  return real(sent.step) + (real(sent.token) + real(sent.all_token)) * tokens + real(step) +
         real(host_step) + real(host_row) * rows;
}

Overheads overheads_of(const ModelSpec& model, const DeviceSpec& device,
                       const Calibration& calibration, const ParallelOptions& parallel) {
  return {.mode = calibration.mode,
          .sent = communication_ticks(model, device, calibration, parallel),
          .step = ticks_from_ns(calibration.step_ns),
          .host_step = ticks_from_ns(calibration.host_step_ns),
          .host_row = ticks_from_ns(calibration.host_row_ns)};
}

}  // namespace headroom
