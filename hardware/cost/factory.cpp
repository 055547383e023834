#include "hardware/cost/factory.hpp"

#include <fmt/format.h>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

const Calibration* find_calibration(const Catalog& catalog, const ModelSpec& model,
                                    const DeviceSpec& device, const CostRequest& request) {
  // Kernels of other weights reach other shares.
  const Dtype dtype = main_dtype(model);
  const std::string_view weights = is_quantised(dtype) ? name_of(dtype) : std::string_view();
  for (const auto& [id, row] : catalog.calibrations()) {
    if (row.device == device.id && row.engine == request.engine && row.mode == request.mode &&
        row.weights == weights) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace

const Calibration& choose_calibration(const Catalog& catalog, const ModelSpec& model,
                                      const DeviceSpec& device, const CostRequest& request) {
  if (!request.calibration.empty()) {
    const Calibration& named = catalog.calibration(request.calibration);
    if (named.mode == request.mode) return named;
    throw ConfigError(fmt::format("calibration {} is for {} scheduling, the engine runs {}",
                                  named.id, name_of(named.mode), name_of(request.mode)));
  }
  if (const Calibration* found = find_calibration(catalog, model, device, request)) return *found;
  for (const auto& [id, row] : catalog.calibrations()) {
    if (row.device.empty() && row.mode == request.mode &&
        row.hopper_or_later == device.hopper_or_later()) {
      return row;
    }
  }
  throw ConfigError(fmt::format("catalog: no calibration for {} with {} ({}) and no generic one",
                                device.id, request.engine, name_of(request.mode)));
}

CostChoice make_step_cost(const Catalog& catalog, const ModelSpec& model, const DeviceSpec& device,
                          const CostRequest& request) {
  const Calibration calibration = request.level == CostLevel::spec
                                      ? spec_calibration(request.mode)
                                      : choose_calibration(catalog, model, device, request);
  CostChoice choice;
  choice.cost = std::make_unique<RooflineCost>(model, device, calibration, request.roofline);
  choice.calibration = calibration.id;
  choice.source = calibration.source;
  choice.engine_versions = calibration.engine_versions;
  choice.uncalibrated = request.level == CostLevel::calibrated && calibration.device.empty();
  choice.client_latency_ns = static_cast<TimeNs>(calibration.client_latency_ns + 0.5);
  return choice;
}

}  // namespace headroom
