#pragma once
// Chooses the constants for a device and an engine, and builds the step cost from them.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "hardware/cost/kernel_cost.hpp"
#include "hardware/cost/roofline.hpp"
#include "sim/kernel/time.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

enum class CostLevel : std::uint8_t {
  spec,        // data sheet: every efficiency 1, no overheads
  calibrated,  // fitted constants of the device and engine, else the generic set
  kernels,     // the library of measured kernels and what lies between them (kernel_cost.hpp)
  table        // kernels of one model (kernel_table.hpp); the rest as `calibrated`
};

struct CostRequest {
  CostLevel level = CostLevel::calibrated;
  std::string engine;  // engine family
  EngineMode mode = EngineMode::async;
  std::optional<EngineVersion> version;  // of the engine; absent: not known, or not that engine's
  std::string calibration;               // id of the row to use; empty: chosen by the above
  double clock_share = 1;                // of the data sheet's arithmetic rates, above 0
  double bandwidth_share = 1;            // of the data sheet's memory bandwidth, above 0
  std::filesystem::path tables;  // of level table: a folder of kernel times, or of its tp<N>
  RooflineOptions roofline;
  // Of level kernels: what the engine's options choose.
  std::optional<KernelEngine> kernels;  // absent: no engine's kernels were measured
  bool prefills_in_fp8 = false;
  BackendChoice backends;
  CapturedSteps captured;
};

struct CostChoice {
  std::unique_ptr<StepCost> cost;
  std::string calibration;      // id of the row; "spec" for the data sheet
  std::string source;           // where its constants come from
  std::string engine_versions;  // that they were fitted on; empty for generic and spec
  bool uncalibrated = false;    // generic constants: results must say so
  TimeNs client_latency_ns = 0;
  double prompt_token_ns = 0;     // of the API process, per prompt token; 0: in the latency
  double entry_ns = 0;            // of both, what requests that come together wait for one another
  double entry_token_ns = 0;      // and per prompt token
  double weight_bytes_per_s = 0;  // that matrix products reach on a rank
  double matrix_flops_per_s = 0;  // likewise, with activations as weights
};

// The row named, or the one for device, engine family and mode. A row is used for
// weights of the dtype it was fitted with only (Calibration::weights). A row for certain releases
// goes before one for all, and is chosen for no others. Without one: the engine's row for the
// device's architecture, then the generic row. A row whose
// bandwidth or peak differs from the catalog's device by more than 1 % is a ConfigError.
[[nodiscard]] const Calibration& choose_calibration(const Catalog& catalog, const ModelSpec& model,
                                                    const DeviceSpec& device,
                                                    const CostRequest& request);
// A device that runs slower, or whose memory others use, too; `row` was fitted on all of it.
void take_part(double clock_share, double bandwidth_share, DeviceSpec& device, Calibration& row);

// The roofline of a step with pipeline stages and data ranks, whichever `options` have.
[[nodiscard]] std::unique_ptr<StepCost> make_roofline_cost(const ModelSpec& model,
                                                           const DeviceSpec& device,
                                                           const Calibration& row,
                                                           const RooflineOptions& options);

// Why the steps of this engine with this model on this device are not priced by the kernel library;
// empty: they can be.
[[nodiscard]] std::string why_no_kernels(const Catalog& catalog, const ModelSpec& model,
                                         const DeviceSpec& device, std::string_view engine,
                                         std::optional<KernelEngine> kernels);

// Whether the kernel library prices it better than the row that choose_calibration() finds: it has
// tables of this device, and the row is generic or for other models.
[[nodiscard]] bool prefers_kernels(const Catalog& catalog, const ModelSpec& model,
                                   const DeviceSpec& device, const CostRequest& request);

// ConfigError, DataError: kernel times that are missing, wrong, or of another model.
[[nodiscard]] CostChoice make_step_cost(const Catalog& catalog, const ModelSpec& model,
                                        const DeviceSpec& device, const CostRequest& request);

}  // namespace headroom
