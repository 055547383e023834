#pragma once
// Serving runs that others measured, as scenarios to replay with what was measured in them. One
// reader per published data set; each reader states what its data set does not record.
//
// Folders, each optional, in the given folder or below it:
//   requests.csv + config.json   one run of vLLM, request by request (LLMServingSim bench, MIT)
//   stages.csv                   means of load stages of vLLM 0.15 on H100 (inference-sim)
//   max_throughput.csv           jobs of trtllm-bench (TensorRT-LLM performance overview,
//   Apache-2.0)
//   all_results.csv              static batches of 2024 (Argonne LLM-Inference-Bench, BSD-3-Clause)
//   silicon_sample.csv + recipes.csv   closed loops of InferenceX with their server commands
//   (NVIDIA aiconfigurator and SemiAnalysis InferenceX, Apache-2.0)
//   perf_model.csv               prompt and token times of 2023 (Splitwise, MIT)
//   decode_rates.csv             rates that reports give, with their settings (its reader)
//   observed.json + trace.csv    a server that `headroom observe` measured

#include <cstdint>
#include <filesystem>
#include <istream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/kernel/fact_rows.hpp"
#include "sim/scenario/json_document.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

// By the names of `vllm bench serve`, e.g. "mean_ttft_ms".
struct MeasuredMetric {
  std::string_view name;
  double value = 0;
};

struct MeasuredRun {
  std::string data_set;  // folder and row: what a calibration's `fitted_runs` names
  std::string label;     // model, device and load
  Scenario scenario;     // system and settings; its workload is `arrivals`
  std::vector<Arrival> arrivals;
  // What the arrivals' prefixes refer to; null: they share nothing.
  std::shared_ptr<const std::vector<PrefixSegment>> pieces;
  std::vector<MeasuredMetric> measured;
  std::int64_t cold_requests = 0;  // first ones, left out of all means: the engine was cold
  bool settings_differ = false;  // the server's command is not known to be the run's: scored apart
  bool at_the_engine = false;    // times were taken in the engine: no client, no API server
  // Closed loop: so many requests at a time, in the order of `arrivals` and whatever their times;
  // the next one is sent when one ends. 0: each at its own time.
  std::int64_t concurrency = 0;
  // output_throughput is of decoding alone: all tokens but first ones, over the time from the first
  // one of any request to the last of all. Else of the whole run.
  bool decoding_rate = false;
};

struct ExcludedRun {
  std::string data_set;
  std::string why;
};

struct MeasuredRuns {
  std::vector<MeasuredRun> runs;
  std::vector<ExcludedRun> excluded;
};

// ConfigError: no such folder, or none of the files in it. Both with file:line: a bad file. Runs in
// order of folder and row.
[[nodiscard]] MeasuredRuns read_measured_runs(const std::filesystem::path& directory,
                                              const Catalog& catalog);

inline constexpr std::int64_t kMostMeasuredTokens = 10'000'000;  // of a prompt or an answer
inline constexpr std::int64_t kMostMeasuredBatch = 4096;         // sequences
inline constexpr double kLongestMeasuredRun = 1e8;               // s

// The system that `place` (file, or file:line) recorded; `engine` as in a scenario. ConfigError, as
// for a scenario.
[[nodiscard]] Scenario recorded_system(const std::string& place, const std::string& model,
                                       std::string_view device, const Json& engine);

// The same of a scenario's JSON without a workload.
[[nodiscard]] Scenario recorded_scenario(const std::string& place, Json root);

// `requests` equal ones at the start of the run, each with its length declared.
[[nodiscard]] std::vector<Arrival> batch_of(std::int64_t requests, std::int32_t prompt_tokens,
                                            std::int32_t output_tokens);
// Whether the engine of `scenario` starts here and its pool holds all of `arrivals` at full length.
[[nodiscard]] bool holds_at_once(const Scenario& scenario, const std::vector<Arrival>& arrivals,
                                 const Catalog& catalog);
[[nodiscard]] double median_of(std::vector<double> values);  // of at least one

// The readers. `name` is the data set's folder.
void read_request_log(const std::filesystem::path& folder, const std::string& name,
                      const Catalog& catalog, MeasuredRuns& result);
void read_load_stages(std::istream& in, const std::string& name, const Catalog& catalog,
                      MeasuredRuns& result);
void read_max_throughput(std::istream& in, const std::string& name, const Catalog& catalog,
                         MeasuredRuns& result);
void read_static_batches(std::istream& in, const std::string& name, const Catalog& catalog,
                         MeasuredRuns& result);
void read_closed_loops(std::istream& sample, std::istream& recipes, const std::string& name,
                       const Catalog& catalog, MeasuredRuns& result);
void read_token_times(std::istream& in, const std::string& name, const Catalog& catalog,
                      MeasuredRuns& result);
void read_observation(const std::filesystem::path& folder, const std::string& name,
                      MeasuredRuns& result);
void read_decode_rates(std::istream& in, const std::string& name, const Catalog& catalog,
                       MeasuredRuns& result);

}  // namespace headroom
