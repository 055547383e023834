#pragma once
// What a serving engine wrote about memory when it started; each engine whose logs are read has its
// patterns in a folder of its own (<engine>/startup_log.hpp). Everything found is kept with the
// line it was found on; what a log does not say is absent, never guessed.
//
// GiB = 2^30 bytes throughout. Where the engines print "GB" for weights they divide by 2^30 all the
// same (vLLM 0.6.6: "took 14.9595 GB" and "take 14.96GiB" of the same model in one log;
// TensorRT-LLM 1.1: "Use 63.32 GB" beside 63.52 GiB measured).

#include <array>
#include <cstdint>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/budget/budget.hpp"
#include "sim/engines/log_text.hpp"

namespace headroom {

struct Engine;

template <class T>
struct Found {
  T value{};
  std::int64_t line = 0;
};
using FoundNumber = std::optional<Found<double>>;
using FoundCount = std::optional<Found<std::int64_t>>;
using FoundText = std::optional<Found<std::string>>;

// What one rank says about its device.
struct RankMemory {
  std::string rank;           // its tag in the log; empty when the lines carry none
  FoundNumber total_gib;      // of the device, as the runtime reports it
  FoundNumber free_gib;       // before anything is loaded
  FoundNumber requested_gib;  // vLLM: total * gpu_memory_utilization
  FoundNumber weights_gib;
  FoundNumber activation_gib;  // growth of torch's peak over the weights while profiling
  // vLLM: growth outside torch since the first look; in 0.6.4 everything outside torch, others
  // included. TensorRT-LLM: everything outside torch at the end of profiling, others included.
  FoundNumber non_torch_gib;
  FoundNumber consumed_gib;  // vLLM after 0.22: weights and growth outside torch in one
  FoundNumber available_kv_gib;
  FoundNumber graph_gib;           // measured by capturing
  FoundNumber graph_estimate_gib;  // before the pool is sized
  // TensorRT-LLM.
  FoundNumber peak_gib;       // torch and outside together
  FoundNumber fraction;       // of the rest, for KV
  FoundNumber kv_gib;         // the pool as allocated
  FoundNumber temporary_gib;  // the pool of the profiling pass: inside the peak, given back
};

struct LogFailure {
  StartupStage stage = StartupStage::blocks;
  std::string text;  // of the log, from the message on
  std::int64_t line = 0;
  FoundNumber needed_gib;        // of max_length_request
  FoundCount largest_model_len;  // of max_length_request, where the log says it
};

struct StartupLog {
  std::string name;  // of the file
  const Engine* engine = nullptr;
  FoundText version;
  FoundText model;
  FoundText dtype;
  FoundText quantization;
  FoundText kv_cache_dtype;
  FoundCount tensor_parallel;
  FoundCount pipeline_parallel;
  FoundCount context_parallel;  // ranks of a tensor group that share a sequence's KV
  FoundCount max_model_len;
  FoundCount max_num_seqs;
  FoundCount max_num_batched_tokens;
  FoundNumber gpu_memory_utilization;
  FoundCount block_size;            // as configured, or forced by the attention backend
  FoundCount attention_block_size;  // grown to hold a recurrent state: the model is a hybrid
  FoundCount kv_tokens;
  FoundCount gpu_blocks;
  FoundCount cpu_blocks;
  FoundNumber max_concurrency;  // requests of max_concurrency_len
  FoundCount max_concurrency_len;
  // TensorRT-LLM.
  FoundCount max_tokens;  // of the pool
  FoundCount blocks;
  FoundCount tokens_per_block;
  FoundCount kv_bytes_per_token;

  RankMemory memory;              // of the rank with the least memory for KV
  std::vector<RankMemory> ranks;  // each that reported a figure, in order of appearance
  std::int64_t rank_count = 1;
  bool graphs_in_budget = false;  // vLLM: the estimate is subtracted before the pool is sized
  std::int64_t starts = 1;        // in this file; the last is the one reported
  std::optional<LogFailure> failure;
  std::vector<std::string> missing;  // messages of this engine that do not occur
  std::vector<std::string> notes;
};

// ConfigError naming the file: when it is no log of these engines (what was looked for, the first
// line), or one without any figure of memory and without a failure (which messages are missing),
// where figures are needed.
[[nodiscard]] StartupLog read_startup_log(std::istream& in, const std::string& name,
                                          bool needs_figures = true);

// Whether a text has lines that only start-up logs have.
[[nodiscard]] bool holds_log_lines(std::string_view text);

// Memory for KV as the engine sized it: what it says is available, else the pool.
[[nodiscard]] FoundNumber reported_pool_gib(const StartupLog& log);

// The share of memory that the engine may use, of the total or of the rest, by its rule.
[[nodiscard]] FoundNumber reported_share(const StartupLog& log);

// What the log's own figures leave unaccounted for, in GiB; 0 to rounding when they are complete.
// Nothing when a figure is missing.
[[nodiscard]] std::optional<double> closure_gib(const StartupLog& log);

// For the readers of one engine each.

// A message and where its numbers go, in order; null: not kept.
struct MemoryRule {
  std::string_view pattern;  // find_pattern, log_text.hpp
  std::array<FoundNumber RankMemory::*, 4> fields{};
};
struct CountRule {
  std::string_view pattern;
  std::array<FoundCount StartupLog::*, 3> fields{};
};

// Reads the lines of one engine.
class StartupLogReader {
 public:
  virtual ~StartupLogReader() = default;
  virtual void read(const LogLine& line) = 0;
  // How many lines only this engine writes.
  [[nodiscard]] virtual std::int64_t marks() const = 0;
  // Does not set `name` and `engine`. Nothing can be read afterwards.
  [[nodiscard]] virtual StartupLog finish() = 0;
};

// Apply every rule to a line; later lines replace earlier ones. True when one was found.
bool apply_rules(std::span<const MemoryRule> rules, const LogLine& line, StartupLog& log);
bool apply_rules(std::span<const CountRule> rules, const LogLine& line, StartupLog& log);

// The figures of the rank `line` comes from, new if need be.
[[nodiscard]] RankMemory& memory_of(StartupLog& log, const LogLine& line);
// Sets `memory`: the rank with least memory for KV (else most weights, most outside torch), the
// first of equals; figures it lacks come from the others, the tightest of each. A line without a
// rank applies to all ranks.
void settle_ranks(StartupLog& log);

}  // namespace headroom
