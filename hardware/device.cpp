#include "hardware/device.hpp"

#include <fmt/format.h>

#include "sim/kernel/errors.hpp"

namespace headroom {

double matrix_flops(const DeviceSpec& device, Dtype weights) {
  switch (weights) {
    case Dtype::fp8: return device.fp8_flops.value_or(device.fp16_flops);
    case Dtype::int8: return device.int8_ops.value_or(device.fp16_flops);
    case Dtype::fp32:
      if (device.fp32_flops) return *device.fp32_flops;
      throw ConfigError(fmt::format("device {}: no fp32 rate in the catalog", device.id));
    case Dtype::fp16:
    case Dtype::bf16:
    case Dtype::mxfp4: break;
  }
  return device.fp16_flops;
}

}  // namespace headroom
