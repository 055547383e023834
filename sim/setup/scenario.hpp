#pragma once
// One run as the user describes it. Plain data; defaults stand here, and unit, range and meaning of
// each field in the option tables (options.hpp). An empty optional means "by the engine's own
// rule", which resolve.hpp fills in and names.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

struct EngineSection {
  std::string name = "vllm";
  std::optional<std::string> version;
  std::int64_t tensor_parallel_size = 1;
  std::string dtype = "auto";
  std::string kv_cache_dtype = "auto";
  double gpu_memory_utilization = 0.9;  // vLLM v0.19 default; ENGINES.md 1.1
  std::optional<std::int64_t> max_model_len;
  std::optional<std::int64_t> max_num_seqs;
  std::optional<std::int64_t> max_num_batched_tokens;
  std::optional<std::int64_t> block_size;
  bool enable_prefix_caching = true;
  bool enable_chunked_prefill = true;
  std::optional<bool> async_scheduling;
  bool scheduler_reserve_full_isl = true;
  double watermark = 0;
  std::optional<std::int64_t> num_gpu_blocks_override;
  std::optional<std::int64_t> kv_cache_memory_bytes;
  double batch_wait_ms = 0;
  bool stream = false;
  double restart_s = 60;
  std::optional<std::string> scheduler;
  std::optional<std::string> kv_allocator;
};

// step = a + c * prompt tokens + b * decoding sequences + d * context they read: the form of the
// queueing laws, so that a run can be compared with a closed form.
struct AffineSection {
  double step_us = 10000;
  double prompt_token_us = 20;
  double decode_token_us = 250;
  double context_token_us = 0;
};

struct CostSection {
  std::string level = "calibrated";
  std::string calibration = "auto";
  AffineSection affine;
};

struct TraceSection {
  std::string file;
  std::optional<std::int64_t> limit;
  std::string zero_tokens = "drop";
};

struct ArrivalsSection {
  std::string process = "poisson";
  std::optional<double> request_rate;
  double burstiness = 1;
};

struct LengthSection {
  std::string law = "fixed";
  std::optional<std::int64_t> tokens;
  std::optional<double> median;
  std::optional<double> mean;
  std::optional<double> sigma;
  std::optional<std::int64_t> min;
  std::optional<std::int64_t> max;
  std::vector<std::int64_t> values;
  std::vector<std::int64_t> weights;
  std::string file;
};

struct MaxTokensSection {
  std::string rule = "engine_default";
  std::optional<std::int64_t> value;
  std::optional<double> times_output;
  std::vector<std::int64_t> per_class;
};

struct WorkloadSection {
  TraceSection trace;
  ArrivalsSection arrivals;
  std::optional<std::int64_t> num_requests;
  LengthSection prompt;
  LengthSection output;
  bool joint_lengths = false;
  MaxTokensSection max_tokens;
};

struct SloSection {
  std::optional<double> ttft_ms;
  std::optional<double> tpot_ms;
  std::optional<double> e2el_ms;
};

struct RunSection {
  std::optional<double> until_s;
  std::optional<std::int64_t> max_events;
  std::int64_t no_progress_events = 1'000'000;
  std::optional<double> warmup_s;
  std::optional<double> steady_end_s;
  bool single_step = false;
};

struct OutputSection {
  double timeline_interval_s = 1;
};

struct Scenario {
  std::string name;
  std::string description;
  std::int64_t seed = 1;
  std::string model;
  std::string device;
  EngineSection engine;
  CostSection cost;
  WorkloadSection workload;
  SloSection slo;
  RunSection run;
  OutputSection output;

  // JSON pointer -> file or flag, for every value the user gave.
  std::map<std::string, std::string> given;
  std::string file;       // as errors and provenance call the scenario
  std::string directory;  // that relative file names are relative to; empty: the current one

  [[nodiscard]] bool is_given(const std::string& pointer) const { return given.contains(pointer); }
};

}  // namespace headroom
