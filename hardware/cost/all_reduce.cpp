#include "hardware/cost/all_reduce.hpp"

#include <fmt/format.h>

#include <bit>

#include "hardware/cost/ticks.hpp"
#include "sim/kernel/det_math.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

double log2_of(std::int64_t tp) {
  const auto bits = static_cast<std::uint64_t>(tp);
  if (std::has_single_bit(bits)) return static_cast<double>(std::bit_width(bits)) - 1;
  return det::log(static_cast<double>(tp)) / det::log(2.0);
}

}  // namespace

AllReduceTicks all_reduce_ticks(const ModelSpec& model, const DeviceSpec& device,
                                const Calibration& calibration, std::int64_t tp) {
  if (tp == 1) return {};
  double latency_ns = calibration.pcie_latency_ns;
  double bandwidth = calibration.pcie_bytes_per_s;
  if (device.nvlink_bytes_per_s) {
    latency_ns = calibration.nvlink_latency_ns + calibration.nvlink_latency_log2_ns * log2_of(tp);
    bandwidth = *device.nvlink_bytes_per_s * calibration.nvlink_bandwidth_share;
  } else if (bandwidth == 0) {
    bandwidth = device.pcie_bytes_per_s.value_or(0);
  }
  if (bandwidth == 0) {
    throw ConfigError(fmt::format("tensor_parallel_size {}: device {} has no link in the catalog",
                                  tp, device.id));
  }
  const double reduces = 2.0 * static_cast<double>(model.layers());
  const auto ranks = static_cast<double>(tp);
  const double bytes = static_cast<double>(model.hidden) * 2.0 * 2.0 * (ranks - 1) / ranks;
  return {ticks_from_ns(reduces * latency_ns), ticks_from_seconds(reduces * bytes / bandwidth)};
}

}  // namespace headroom
