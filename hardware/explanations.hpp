#pragma once
// The published runs of TensorRT-LLM on a DGX Spark, natively and in containers (benchmark-spark,
// November 2025: 3 models, 63 runs), and what each explanation of the containers' smaller KV pool
// predicts for them. The peak is a measurement; nothing here predicts it from a model's geometry.

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/environment.hpp"

namespace headroom {

struct SparkRun {
  std::string model;  // as on Hugging Face
  bool container = false;
  std::int64_t iteration = 0;
  std::string timestamp;  // yyyymmdd_hhmmss: orders the runs of a model
  double peak_gib = 0;    // not free on the device at the peak of the engine's profiling pass
  double kv_gib = 0;
  double output_tokens_per_s = 0;
};

// A CSV file with the header
// model_id,environment,iteration,timestamp,peak_memory_gib,kv_cache_gib,output_tokens_per_s,
// start_temp_c,end_temp_c (one line). DataError with `name`:line on anything else.
[[nodiscard]] std::vector<SparkRun> read_spark_runs(std::istream& in, const std::string& name);

// kv = 0.9 x (119.707 - peak) GiB: free_gpu_memory_fraction of the rest of the total that CUDA
// reported. It holds in all 63 runs to 0.010 GiB (ENGINES.md 1.3).
inline constexpr double kSparkDeviceGib = 119.707;
inline constexpr double kSparkKvFraction = 0.9;
[[nodiscard]] double kv_of_peak_gib(double peak_gib);
[[nodiscard]] double kv_residual_gib(const SparkRun& run);  // logged less kv_of_peak_gib

struct Spread {
  double mean = 0;
  double min = 0;
  double max = 0;
  std::int64_t runs = 0;  // 0: nothing measured
};
[[nodiscard]] Spread spread_of(std::span<const double> values);
[[nodiscard]] std::string to_string(const Spread& spread);  // "16.60 (15.18 to 17.53, 6 runs)"

enum class RunSet : std::uint8_t { first, steady, all };
[[nodiscard]] std::string_view name_of(RunSet set);

// Steady are the runs after the last fall of the peak by more than this from one run to the next,
// never the first one. A definition, not a measurement: 2 GiB lies between the falls while a model
// settles (2.6 to 6.6 GiB) and those later on (up to 1.6).
inline constexpr double kSettledFallGib = 2.0;

struct ContainerRuns {
  Spread peak_gib;
  Spread kv_gib;
  Spread overhead_gib;  // peak less the mean native peak of the model
};

struct ModelRuns {
  std::string model;
  Spread native_peak_gib;
  Spread native_kv_gib;
  ContainerRuns first;
  ContainerRuns steady;
  ContainerRuns all;
  std::int64_t steady_from = 0;       // number of the first steady run, from 1; 0: none
  std::vector<double> overheads_gib;  // in the order of the runs

  [[nodiscard]] const ContainerRuns& of(RunSet set) const;
};

// One row per model with native runs, by name. First start and steady state are apart: the table to
// report.
[[nodiscard]] std::vector<ModelRuns> summarise_runs(std::span<const SparkRun> runs);

// What was served, from its geometry.
struct ServedModel {
  std::string model;
  ByteCount checkpoint_bytes = 0;  // as shipped
  ByteCount token_read_bytes = 0;  // weights that one sequence reads per token
};

struct ExplanationScore {
  std::string explanation;  // id of the environment
  std::string model;
  RunSet set = RunSet::all;
  double predicted_gib = 0;  // added to the native peak
  std::optional<double> measured_gib;
  std::optional<double> error_gib;  // predicted less measured
  std::string label;                // "scored", or why nothing scores it
  std::string needed;               // what would have to be true for the measured figure
};

// `container` against `native` for every model and set of runs. Both are evaluated with the mean
// native peak as the engine's device memory; host terms that they share cancel. Means are compared
// with means, so the spread of ModelRuns belongs beside the error.
[[nodiscard]] std::vector<ExplanationScore> score_explanation(const Environment& container,
                                                              const Environment& native,
                                                              const DeviceSpec& device,
                                                              std::span<const ModelRuns> runs,
                                                              std::span<const ServedModel> models);

// Share of the native peak that would have to be counted twice; absent without runs.
[[nodiscard]] std::optional<double> needed_share(const ModelRuns& runs, RunSet set);
// Whether one share explains all models: their shares, and by how much the best one misses.
[[nodiscard]] std::string double_counting_verdict(std::span<const ModelRuns> runs, RunSet set);

// Contradictions in the data, empty if there are none: weights larger than the device, or than the
// peak at which they were reportedly loaded.
[[nodiscard]] std::optional<std::string> weights_note(const std::string& model,
                                                      ByteCount weight_bytes, double device_gib,
                                                      double peak_gib);
// An output rate above what one sequence can get from the memory's bandwidth.
[[nodiscard]] std::optional<std::string> bandwidth_note(const ServedModel& model,
                                                        double bandwidth_bytes_per_s,
                                                        double output_tokens_per_s);
// Rates that agree within 5 % though the bytes per token differ by more than twice.
[[nodiscard]] std::optional<std::string> equal_rates_note(std::span<const ServedModel> models,
                                                          std::span<const double> tokens_per_s);

}  // namespace headroom
