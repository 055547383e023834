#include "sim/resolve/plausible_costs.hpp"

#include <algorithm>

#include "hardware/cost/factory.hpp"
#include "sim/resolve/factory.hpp"

namespace headroom {
namespace {

// Links belong to a machine's wiring, host time to an engine's mode.
void keep_own_parts(Calibration& row, const Calibration& from) {
  row.nvlink_latency_ns = from.nvlink_latency_ns;
  row.nvlink_latency_log2_ns = from.nvlink_latency_log2_ns;
  row.nvlink_bandwidth_share = from.nvlink_bandwidth_share;
  row.pcie_latency_ns = from.pcie_latency_ns;
  row.pcie_bytes_per_s = from.pcie_bytes_per_s;
  if (row.mode == from.mode) return;
  row.mode = from.mode;
  row.step_ns = from.step_ns;
  row.host_step_ns = from.host_step_ns;
  row.host_row_ns = from.host_row_ns;
}

bool has_fitted_rows(const Catalog& catalog, const std::string& engine) {
  return std::ranges::any_of(catalog.calibrations(), [&](const auto& entry) {
    return entry.second.engine == engine && !entry.second.device.empty();
  });
}

// An engine whose constants are all of architectures multiplies in ways of its own (llama.cpp
// unpacks weights meanwhile), so its other architectures tell more than other engines' devices.
bool may_stand_in(const Calibration& fitted, const Calibration& in_use, bool by_architecture) {
  if (!by_architecture) return !fitted.device.empty();
  return fitted.engine == in_use.engine && fitted.weights == in_use.weights;
}

bool is_unified(const DeviceSpec& device) { return device.memory_model == MemoryModel::unified; }

bool is_unified(const Catalog& catalog, const std::string& device) {
  return catalog.has_device(device) && is_unified(catalog.device(device));
}

}  // namespace

PlausibleShare plausible_share(const Resolved& resolved, const Catalog& catalog,
                               TokenCount pool_tokens, const std::string& calibration,
                               const StepShape& shape, Ticks price) {
  PlausibleShare share;
  if (!catalog.calibrations().contains(calibration)) return share;
  const Calibration& in_use = catalog.calibration(calibration);
  RooflineOptions options = roofline_options(resolved, pool_tokens);
  // Only one step is priced: its cost is computed, not looked up, and a row of another device is
  // not checked against the largest step of this one.
  options.limits = {.max_num_seqs = 1, .max_step_tokens = 1, .max_model_len = 1};
  const std::string_view weights = name_of(main_dtype(resolved.model));
  const bool by_architecture = !in_use.engine.empty() && !has_fitted_rows(catalog, in_use.engine);
  for (const auto& [id, fitted] : catalog.calibrations()) {
    if (!may_stand_in(fitted, in_use, by_architecture) || fitted.first_version) continue;
    // Kernels for four-bit weights reach shares of their own.
    if (fitted.weights == name_of(Dtype::nvfp4) && fitted.weights != weights) continue;
    // Nor are a small machine's long steps what a server takes.
    if (is_unified(catalog, fitted.device) && !is_unified(resolved.device)) continue;
    Calibration row = fitted;
    row.device.clear();  // as shares of this device's data sheet
    row.bandwidth_bytes_per_s = row.peak_flops = 0;
    keep_own_parts(row, in_use);
    DeviceSpec device = resolved.device;
    take_part(resolved.scenario.cost.clock_share, resolved.scenario.cost.bandwidth_share, device,
              row);
    StepPrice other;
    make_roofline_cost(resolved.model, device, row, options)->price(shape, other);
    const double ratio = static_cast<double>(other.base) / static_cast<double>(price);
    if (share.low_row.empty() || ratio < share.low) {
      share.low = ratio;
      share.low_row = id;
    }
    if (share.high_row.empty() || ratio > share.high) {
      share.high = ratio;
      share.high_row = id;
    }
  }
  return share;
}

}  // namespace headroom
