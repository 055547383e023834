#include "hardware/calibration.hpp"

#include <fmt/format.h>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr double kTolerance = 0.01;  // data sheets round (989.4 and 989.5 TFLOP/s are one device)

bool agrees(double fitted, double catalog) {
  const double difference = fitted > catalog ? fitted - catalog : catalog - fitted;
  return difference <= kTolerance * catalog;
}

}  // namespace

std::string_view name_of(EngineMode mode) { return mode == EngineMode::sync ? "sync" : "async"; }

Calibration spec_calibration(EngineMode mode) {
  Calibration calibration;
  calibration.id = "spec";
  calibration.mode = mode;
  calibration.source = "data sheet: every efficiency 1, no overheads";
  return calibration;
}

void check_fits(const Calibration& calibration, const DeviceSpec& device) {
  if (calibration.device.empty()) return;
  if (!device.has_chip_of(calibration.device)) {
    throw ConfigError(fmt::format("calibration {} was fitted on {}, not on {}", calibration.id,
                                  calibration.device, device.id));
  }
  if (!agrees(calibration.bandwidth_bytes_per_s, device.bandwidth_bytes_per_s)) {
    throw ConfigError(fmt::format("calibration {} was fitted with {} GB/s, device {} has {}",
                                  calibration.id, calibration.bandwidth_bytes_per_s / 1e9,
                                  device.id, device.bandwidth_bytes_per_s / 1e9));
  }
  if (!agrees(calibration.peak_flops, device.fp16_flops)) {
    throw ConfigError(fmt::format("calibration {} was fitted with {} TFLOP/s, device {} has {}",
                                  calibration.id, calibration.peak_flops / 1e12, device.id,
                                  device.fp16_flops / 1e12));
  }
}

}  // namespace headroom
