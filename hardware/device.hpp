#pragma once
// One accelerator as data sheets and drivers describe it. Rates are dense (no sparsity), per
// device.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/llm/dtype.hpp"
#include "hardware/observed_errors.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

enum class MemoryModel : std::uint8_t {
  discrete,
  coherent_discrete,  // own memory, also addressable by the host (GH200, GB200)
  unified             // one memory for host and device
};

// What one device draws, in W. Absent: the catalog has no source for it.
struct DevicePower {
  std::optional<double> tdp_w;            // the data sheet's limit
  std::optional<double> idle_w;           // between steps, with the model loaded
  std::optional<double> memory_bound_w;   // while memory bandwidth bounds it
  std::optional<double> compute_bound_w;  // while arithmetic does
  std::string source;
};

struct DeviceSpec {
  // The device whose measured kernel times price this one, which has none: an assumption. Kernels
  // reach other shares of the data sheet here than there: factors on each rate of this device, the
  // attained share here over the attained share there.
  struct KernelsOf {
    std::string device;  // catalog id, with kernel times of its own
    double bandwidth = 1;
    double flops_16_bit = 1;
    double flops_8_bit = 1;  // and of fewer bits
    double link = 1;
    double decode_attention = 1;  // times the bandwidth
    // Of starting a kernel or an exchange and of the small kernels of a layer: a time here over the
    // time there.
    double latency = 1;
    // Kernels that were tuned for this device: their times over what the factors above make of the
    // other device's, by tokens, straight between their logarithms and level beyond the ends.
    struct Tuned {
      enum class Kernels : std::uint8_t { products, experts };
      Kernels kernels = Kernels::products;
      std::string format;  // as kernel tables have it: "fp8_block"
      std::vector<double> tokens;
      std::vector<double> times;
    };
    std::vector<Tuned> tuned;
    std::vector<ObservedErrors> observed;  // of measured runs here, which chose none of the factors
    std::string source;
  };

  std::string id;
  // Catalog id whose fitted constants, and kernels_of unless there is an own one, hold here too;
  // empty: none.
  std::string same_chip_as;
  std::string name;
  std::vector<std::string> aliases;  // other names in use; one may stand for several devices
  // Those of them that mean this device where nothing else is said.
  std::vector<std::string> usual_for;
  std::string vendor;
  std::string architecture;
  MemoryModel memory_model = MemoryModel::discrete;
  std::int32_t sm = 0;  // CUDA compute capability x 10; 0: not an NVIDIA device
  ByteCount memory_nominal_bytes = 0;
  ByteCount memory_reported_bytes = 0;  // the total that the runtime returns
  double bandwidth_bytes_per_s = 0;
  bool ecc_in_band = false;  // the check bits of its GDDR are in the same memory, and move with it
  std::optional<double> fp32_flops;
  double fp16_flops = 0;  // FLOP/s with fp32 accumulation
  std::optional<double> bf16_flops;
  std::optional<double> fp8_flops;
  std::optional<double> fp4_flops;
  std::optional<double> int8_ops;
  std::optional<double> nvlink_bytes_per_s;  // per direction; also Infinity Fabric
  // Devices that nvlink is spread over, a link to each; 0: any of them gets all of it (a switch).
  std::int32_t link_peers = 0;
  std::optional<double> pcie_bytes_per_s;  // per direction
  DevicePower power;
  std::optional<KernelsOf> kernels_of;
  std::string source;
  std::string confidence;  // where the row's numbers come from
  std::string notes;

  // Whether constants fitted on the device `fitted` are of this chip.
  [[nodiscard]] bool has_chip_of(const std::string& fitted) const {
    return fitted == id || (!fitted.empty() && fitted == same_chip_as);
  }

  // NVIDIA of sm 90 or more. GB10 and the RTX Blackwell parts (sm 12x) are not: they have the
  // server-class latencies of neither Hopper nor data-centre Blackwell (FIDELITY.md 1, fits per
  // device).
  [[nodiscard]] bool hopper_or_later() const { return sm >= 90 && sm < 110; }
};

// Of nvlink, what goes to the other ones of `devices`. `peers`: DeviceSpec::link_peers.
[[nodiscard]] inline double share_of_links(double devices, double peers) {
  return peers == 0 ? 1 : std::clamp((devices - 1) / peers, 1 / peers, 1.0);
}

// What matrix products are computed in.
enum class Products : std::uint8_t {
  as_stored,  // 8-bit and nvfp4 rates where the device has them, else 16 bits (weights are widened)
  int8,       // quantised weights and activations of 8 bits, whatever the weights are stored as
  half        // 16 bits, summed in 16 bits
};

// Dense rate of matrix products with weights stored as `weights`. A rate that the catalog does not
// have is the 16-bit rate. ConfigError when the device has no rate for it (fp32).
[[nodiscard]] double matrix_flops(const DeviceSpec& device, Dtype weights,
                                  Products products = Products::as_stored);

}  // namespace headroom
