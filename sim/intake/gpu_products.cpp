#include "sim/intake/gpu_products.hpp"

#include <algorithm>
#include <array>

namespace headroom {
namespace {

struct GpuProduct {
  std::string_view device;
  std::string_view product;
};

// Names as `nvidia-smi -L` prints them. A node that shares its devices adds "-SHARED".
constexpr std::array kGpuProducts{
    GpuProduct{"a100-40", "NVIDIA-A100-SXM4-40GB"},
    GpuProduct{"a100-80", "NVIDIA-A100-SXM4-80GB"},
    GpuProduct{"a100-80-pcie", "NVIDIA-A100-80GB-PCIe"},
    GpuProduct{"h100-sxm", "NVIDIA-H100-80GB-HBM3"},
    GpuProduct{"h100-pcie", "NVIDIA-H100-PCIe"},
    GpuProduct{"h100-nvl", "NVIDIA-H100-NVL"},
    GpuProduct{"h200-sxm", "NVIDIA-H200"},
    GpuProduct{"b200", "NVIDIA-B200"},
    GpuProduct{"l4", "NVIDIA-L4"},
    GpuProduct{"l40", "NVIDIA-L40"},
    GpuProduct{"l40s", "NVIDIA-L40S"},
    GpuProduct{"a10", "NVIDIA-A10"},
    GpuProduct{"a10g", "NVIDIA-A10G"},
    GpuProduct{"a40", "NVIDIA-A40"},
    GpuProduct{"t4", "Tesla-T4"},
    GpuProduct{"v100-32", "Tesla-V100-SXM2-32GB"},
    GpuProduct{"rtx3090", "NVIDIA-GeForce-RTX-3090"},
    GpuProduct{"rtx4090", "NVIDIA-GeForce-RTX-4090"},
    GpuProduct{"rtx5090", "NVIDIA-GeForce-RTX-5090"},
    GpuProduct{"rtxa6000", "NVIDIA-RTX-A6000"},
};

}  // namespace

std::string_view gpu_product(std::string_view device) {
  const auto found = std::ranges::find(kGpuProducts, device, &GpuProduct::device);
  return found == kGpuProducts.end() ? std::string_view{} : found->product;
}

std::string device_of_product(std::string_view product) {
  constexpr std::string_view kShared = "-SHARED";
  std::string_view plain = product;
  if (plain.ends_with(kShared)) plain.remove_suffix(kShared.size());
  const auto found = std::ranges::find(kGpuProducts, plain, &GpuProduct::product);
  return std::string(found == kGpuProducts.end() ? plain : found->device);
}

}  // namespace headroom
