#include "hardware/device.hpp"

#include <fmt/format.h>

#include "sim/kernel/errors.hpp"

namespace headroom {

double matrix_flops(const DeviceSpec& device, Dtype weights) {
  if (weights == Dtype::fp8) return device.fp8_flops.value_or(device.fp16_flops);
  if (weights == Dtype::int8) return device.int8_ops.value_or(device.fp16_flops);
  if (weights == Dtype::nvfp4) return device.fp4_flops.value_or(device.fp16_flops);
  if (weights != Dtype::fp32) return device.fp16_flops;
  if (device.fp32_flops) return *device.fp32_flops;
  throw ConfigError(fmt::format("device {}: no fp32 rate in the catalog", device.id));
}

}  // namespace headroom
