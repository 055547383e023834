#include "sim/engines/trtllm/startup_log.hpp"
#include "sim/kernel/fact_rows.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace headroom {
namespace {

using Memory = RankMemory;

constexpr std::array kTrtllmMemoryRules{
    // "GB" is GiB (startup_log.hpp).
    MemoryRule{"Use # GB for model weights", {&Memory::weights_gib}},
    MemoryRule{"uses # GB for model weights", {&Memory::weights_gib}},
    // PyTorch backend, pull request 3467 (April 2025) before and after review. The measured figure
    // comes after the computed one.
    MemoryRule{"Memory used for model weights (inside torch) in memory usage profiling: # GiB",
               {&Memory::weights_gib}},
    MemoryRule{
        "Memory used after loading model weights (inside torch) in memory usage profiling: # "
        "GiB",
        {&Memory::weights_gib}},
    MemoryRule{"Memory dynamically allocated during inference (inside torch) in memory usage "
               "profiling: # GiB",
               {&Memory::activation_gib}},
    MemoryRule{"Memory used outside torch*in memory usage profiling: # GiB",
               {&Memory::non_torch_gib}},
    MemoryRule{"Peak memory during memory usage profiling (torch + non-torch): # GiB, available KV "
               "cache memory when calculating max tokens: # GiB",
               {&Memory::peak_gib, &Memory::available_kv_gib}},
    MemoryRule{"fraction is set #", {&Memory::fraction}},
    MemoryRule{"device total memory # GiB", {&Memory::total_gib}},
    MemoryRule{"tmp kv_mem # GiB", {&Memory::temporary_gib}},
    MemoryRule{"Estimated max memory in KV cache : # GiB", {&Memory::available_kv_gib}},
    MemoryRule{"Both free_gpu_memory_fraction and max_tokens*are set (to #", {&Memory::fraction}},
    MemoryRule{"Allocated # GiB for max tokens in paged KV cache", {&Memory::kv_gib}},
};

constexpr std::array kTrtllmCountRules{
    CountRule{"for max tokens in paged KV cache (#)", {&StartupLog::max_tokens}},
    CountRule{"Using # tokens in paged KV cache", {&StartupLog::max_tokens}},
    CountRule{"Number of blocks in KV cache primary pool: #", {&StartupLog::blocks}},
    CountRule{"primary blocks=#", {&StartupLog::blocks}},
    CountRule{"Number of tokens per block: #", {&StartupLog::tokens_per_block}},
    CountRule{"kv size is #", {&StartupLog::kv_bytes_per_token}},
    CountRule{"kv size per token is #", {&StartupLog::kv_bytes_per_token}},
    CountRule{"max_seq_len=#, max_num_requests=#, max_num_tokens=#",
              {&StartupLog::max_model_len, &StartupLog::max_num_seqs,
               &StartupLog::max_num_batched_tokens}},
};

bool is_tagged(std::string_view text) {
  return contains(text, "[TensorRT-LLM]") || contains(text, "[TRT-LLM]");
}

bool has_peak(const RankMemory& memory) { return memory.peak_gib.has_value(); }
bool has_weights(const RankMemory& memory) { return memory.weights_gib.has_value(); }

}  // namespace

void TrtllmLogReader::read(const LogLine& line) {
  if (is_tagged(line.text)) ++marks_;
  pytorch_ = pytorch_ || contains(line.text, "Peak memory during memory usage profiling");
  const bool memory = apply_rules(kTrtllmMemoryRules, line, log_);
  const bool counts = apply_rules(kTrtllmCountRules, line, log_);
  marks_ += memory || counts ? 1 : 0;
  read_settings(line);
  read_runtime_memory(line);
  serving_ = serving_ || contains(line.text, "Application startup complete");
  read_failure(line);
}

void TrtllmLogReader::read_settings(const LogLine& line) {
  for (const std::string_view lead : {"TensorRT-LLM version: ", "Engine version "}) {
    const std::size_t at = line.text.find(lead);
    if (at == std::string::npos) continue;
    const std::string rest = line.text.substr(at + lead.size());
    log_.version = {rest.substr(0, rest.find(' ')), line.number};
  }
  std::array<double, 2> numbers{};
  if (find_pattern(line.text, "MPI size: #, rank: #", numbers)) {
    mpi_ranks_ = std::max(mpi_ranks_, to_count(numbers[0]));
  }
  if (!contains(line.text, "engine args: {") && !contains(line.text, "LLM Args:")) return;
  if (auto model = python_value(line.text, "model")) log_.model = {*model, line.number};
  const auto count = [&](std::string_view key, FoundCount StartupLog::*field) {
    const std::optional<std::string> value = python_value(line.text, key);
    const auto number = value ? to_number(*value) : std::nullopt;
    if (number) log_.*field = {to_count(*number), line.number};
  };
  count("tensor_parallel_size", &StartupLog::tensor_parallel);
  count("pipeline_parallel_size", &StartupLog::pipeline_parallel);
  count("max_batch_size", &StartupLog::max_num_seqs);
  count("max_num_tokens", &StartupLog::max_num_batched_tokens);
  count("max_seq_len", &StartupLog::max_model_len);
}

// "total: 31.84 GiB, available: 17.83 GiB". The lines of several MPI ranks carry no tag: the
// largest peak is kept.
void TrtllmLogReader::read_runtime_memory(const LogLine& line) {
  std::array<double, 2> numbers{};
  if (pytorch_ ||
      !find_pattern(line.text,
                    "Memory usage when calculating max tokens in paged kv cache: total: # GiB, "
                    "available: # GiB",
                    numbers)) {
    return;
  }
  ++marks_;
  RankMemory& memory = memory_of(log_, line);
  const double peak = numbers[0] - numbers[1];
  if (mpi_ranks_ > 1 && memory.peak_gib && memory.peak_gib->value > peak) return;
  memory.total_gib = {numbers[0], line.number};
  memory.peak_gib = {peak, line.number};
}

void TrtllmLogReader::fail(const LogLine& line, std::string_view message, StartupStage stage) {
  if (log_.failure) return;
  log_.failure = LogFailure{.stage = stage,
                            .text = from_message(line.text, message),
                            .line = line.number,
                            .needed_gib = std::nullopt,
                            .largest_model_len = std::nullopt};
}

void TrtllmLogReader::read_failure(const LogLine& line) {
  const std::string& text = line.text;
  constexpr std::string_view kNotCreated =
      "Executor creation failed due to insufficient GPU memory";
  constexpr std::string_view kComponent = "The following component could not be created: ";
  if (contains(text, kNotCreated)) {
    fail(line, kNotCreated, StartupStage::profiling);
  } else if (log_.failure && contains(text, kComponent)) {
    const std::string component = text.substr(text.find(kComponent) + kComponent.size());
    log_.failure->text += " (" + component + ")";
    if (component == "Model") log_.failure->stage = StartupStage::weights;
    if (component == "KV cache") log_.failure->stage = StartupStage::kv_allocation;
  } else if (contains(text, "Impossible to fit in any sequence in kvCache")) {
    fail(line, "Impossible to fit", StartupStage::blocks);
  } else if (!serving_ && contains(text, "out of memory") && !contains(text, "[W]")) {
    // Before the profiling pass is over, the pool that was allocated is the temporary one.
    const bool sized = std::ranges::any_of(log_.ranks, &has_peak);
    const bool pool = log_.max_tokens && sized;
    const bool profiled = std::ranges::any_of(log_.ranks, &has_weights) || log_.max_tokens;
    fail(line, "out of memory",
         pool       ? StartupStage::warm_up
         : profiled ? StartupStage::profiling
                    : StartupStage::weights);
  }
}

void TrtllmLogReader::list_missing() {
  const RankMemory& memory = log_.memory;
  const auto expect = [&](bool found, std::string_view message) {
    if (!found) log_.missing.emplace_back(message);
  };
  expect(log_.version.has_value(), "TensorRT-LLM version: ...");
  expect(memory.peak_gib.has_value(), pytorch_ ? "Peak memory during memory usage profiling"
                                               : "Memory usage when calculating max tokens in "
                                                 "paged kv cache");
  expect(memory.total_gib.has_value(), "device total memory ... GiB");
  expect(memory.fraction.has_value(), "fraction is set ...");
  expect(memory.kv_gib.has_value(), "Allocated ... GiB for max tokens in paged KV cache");
  if (memory.peak_gib && !memory.fraction) {
    log_.notes.emplace_back(
        "the C++ runtime does not print free_gpu_memory_fraction (default 0.9)");
  }
}

StartupLog TrtllmLogReader::finish() {
  settle_ranks(log_);
  log_.rank_count = std::max(log_.rank_count, mpi_ranks_);
  list_missing();
  return std::move(log_);
}

}  // namespace headroom
