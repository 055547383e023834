#include "hardware/device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/errors.hpp"

namespace headroom {

namespace {

// Tensor cores of NVIDIA sum products of 16 bits in 16 bits at half their int8 rate. GeForce and
// RTX Blackwell halve that for sums in 32 bits, which is what the catalog's 16-bit rate is of.
double half_flops(const DeviceSpec& device) {
  return std::max(device.fp16_flops, device.int8_ops.value_or(0) / 2);
}

}  // namespace

double matrix_flops(const DeviceSpec& device, Dtype weights, Products products) {
  if (products == Products::int8 && is_quantised(weights)) {
    return device.int8_ops.value_or(device.fp16_flops);
  }
  if (products == Products::half && weights != Dtype::fp32) return half_flops(device);
  if (weights == Dtype::fp8) return device.fp8_flops.value_or(device.fp16_flops);
  if (weights == Dtype::int8) return device.int8_ops.value_or(device.fp16_flops);
  if (weights == Dtype::nvfp4) return device.fp4_flops.value_or(device.fp16_flops);
  if (weights != Dtype::fp32) return device.fp16_flops;
  if (device.fp32_flops) return *device.fp32_flops;
  throw ConfigError(fmt::format("device {}: no fp32 rate in the catalog", device.id));
}

}  // namespace headroom
