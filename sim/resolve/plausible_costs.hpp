#pragma once
// How far step times could be off where nothing was measured: the same step with every set of
// constants that was fitted on some device, as shares of this device's data sheet.

#include <string>

#include "hardware/catalog.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

// Lowest and highest price among the fitted rows (but those of certain releases), relative to the
// price in use. No row: both 1.
struct PlausibleShare {
  double low = 1;
  double high = 1;
  std::string low_row;
  std::string high_row;
};

// `price`: what `shape` costs in the run. Link constants stay those of the row in use, and so does
// host time where a row is of the other mode (synchronous or not). Nothing for level affine, which
// is no model of a device.
[[nodiscard]] PlausibleShare plausible_share(const Resolved& resolved, const Catalog& catalog,
                                             TokenCount pool_tokens, const std::string& calibration,
                                             const StepShape& shape, Ticks price);

}  // namespace headroom
