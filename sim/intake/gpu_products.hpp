#pragma once
// What the driver calls a device, with dashes for blanks: the label nvidia.com/gpu.product that
// NVIDIA's GPU feature discovery gives to nodes.

#include <string>
#include <string_view>

namespace headroom {

inline constexpr std::string_view kGpuProductLabel = "nvidia.com/gpu.product";

// Empty: not known for this catalog id.
[[nodiscard]] std::string_view gpu_product(std::string_view device);
// The catalog id, or the product itself, as a catalog may know it by that name.
[[nodiscard]] std::string device_of_product(std::string_view product);

}  // namespace headroom
