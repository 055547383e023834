#include "hardware/cost/host_time.hpp"

#include <algorithm>

namespace headroom {

void add_host_time(Ticks host, EngineMode mode, StepPrice& price) {
  if (host == 0) return;
  if (mode == EngineMode::sync) {
    price.base_terms[CostTerm::host] = host;
    price.base += host;
    return;
  }
  const Ticks exposed = host - price.base;
  if (exposed <= 0) return;
  price.base_terms[CostTerm::host] = exposed;
  price.base = host;
  if (price.slope == 0) return;
  price.valid_steps = std::min(price.valid_steps, exposed / price.slope + 1);
  price.slope_terms[CostTerm::host] = -price.slope;
  price.slope = 0;
}

}  // namespace headroom
