#pragma once
// Fitted constants of the step-cost model. A row is a set: its efficiencies trade off against each
// other, so fields of two rows are never mixed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/device.hpp"
#include "hardware/engine_version.hpp"
#include "hardware/observed_errors.hpp"

namespace headroom {

enum class EngineMode : std::uint8_t { sync, async };
[[nodiscard]] std::string_view name_of(EngineMode mode);

// How the time of moving bytes and that of arithmetic make the time of a kernel.
enum class RooflineShape : std::uint8_t {
  smooth,  // sqrt(memory^2 + compute^2), as everything here was fitted
  larger,
  sum
};

// `weights` of a row whose constants were fitted on several formats at once.
inline constexpr std::string_view kAnyWeights = "any";

struct Calibration {
  std::string id;
  std::string device;            // catalog id; empty: generic
  bool hopper_or_later = false;  // rows of no device and engine: the devices they apply to
  // Rows of no device but an engine: the architectures they apply to, of NVIDIA also as sm_80.
  std::vector<std::string> architectures;
  std::string engine;           // family, e.g. "vllm"; empty: generic
  std::string engine_versions;  // that the measured runs used; empty: generic
  // The only releases for which the row is chosen automatically; absent: all releases.
  std::optional<EngineVersion> first_version;
  std::optional<EngineVersion> last_version;
  // Catalog ids: for others measured kernels come before the row, where there are any; empty: none.
  std::vector<std::string> only_models;
  bool only_dense = false;  // the same, of all models without experts
  // Chosen by decodes alone: steps with prompts are priced by measured kernels, where there are any
  // for the model and the replica is one device.
  bool prompts_by_kernels = false;
  std::string weights;  // dtype that most of them had, or kAnyWeights; empty: 16 bits
  EngineMode mode = EngineMode::async;
  Products products = Products::as_stored;  // that compute_share is a share of
  double bandwidth_bytes_per_s = 0;         // fitted with; 0: generic
  double peak_flops = 0;                    // dense 16-bit, fitted with; 0: generic

  double weight_bandwidth_share = 1;  // eb
  double compute_share = 1;           // ec
  double kv_bandwidth_share = 1;      // ekv
  double prefill_compute_share = 1;   // epf
  double mixed_decode_factor = 1;     // mix: decode attention in a step that also prefills
  double expert_compute_share = 1;    // of ec, in products of experts
  double expert_reach = 1;            // tokens but the first count as so many evenly picking
  double expert_layer_ns = 0;         // per layer with experts and step: routing, permutation
  // Products of few tokens (cost/product_tiles.hpp); 0: as many at a time.
  double vector_tokens = 0;         // the largest batch of kernels for vectors
  double vector_compute_share = 0;  // of the peak, in those
  double tile_tokens = 0;           // larger batches take whole tiles
  double tile_extra_tokens = 0;     // and as long as with so many tokens more
  double expert_tile_tokens = 0;    // widest tile of the products of an expert
  double experts_apart_tokens = 0;  // the largest batch whose tokens read their experts each
  double layer_ns = 0;              // k_layer, per layer and step
  double attention_floor_ns = 0;    // a_floor, per layer and attention kind
  double attention_row_ns = 0;      // a_seq, per layer and decoding sequence
  double step_ns = 0;               // k_step
  double host_step_ns = 0;          // cpu0
  double host_row_ns = 0;           // cpu1, per sequence in the step
  double sampler_ns = 0;            // fixed part of the output head
  double sampler_passes = 0;        // passes over fp32 logits of a sampled row
  double elementwise_bandwidth_factor = 1;  // of the device's bandwidth; above 1: caches

  double nvlink_latency_ns = 0;  // all-reduce: latency + per_log2_tp * log2(tp)
  double nvlink_latency_log2_ns = 0;
  double nvlink_bandwidth_share = 1;  // of the per-direction bandwidth
  double pcie_latency_ns = 0;
  double pcie_bytes_per_s = 0;   // 0: the device's own PCIe bandwidth
  double client_latency_ns = 0;  // added to TTFT and E2EL by the client side
  // Not of a row: for studies that remove a term.
  RooflineShape shape = RooflineShape::smooth;
  bool pads_batches = true;              // decodes to captured sizes
  std::vector<std::string> fitted_runs;  // data sets of `headroom validate` that chose constants
  std::vector<ObservedErrors> observed;  // of `headroom validate`
  std::vector<ObservedErrors> observed_elsewhere;  // of public runs, which chose nothing
  std::string source;
};

// Data-sheet roofline: every efficiency 1, no overheads.
[[nodiscard]] Calibration spec_calibration(EngineMode mode);

// ConfigError when the calibration was fitted with another bandwidth or peak than the catalog's
// device has (more than 1 % apart), or for another device.
void check_fits(const Calibration& calibration, const DeviceSpec& device);

}  // namespace headroom
