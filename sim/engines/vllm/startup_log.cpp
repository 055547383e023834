#include "sim/engines/vllm/startup_log.hpp"
#include "sim/kernel/fact_rows.hpp"

#include <array>
#include <utility>

namespace headroom {
namespace {

using Memory = RankMemory;

// The banner of V1, seen in 0.19, is drawn with it and holds the version.
constexpr std::string_view kBlockLetter = "\u2588";

// Wordings from logs and sources of the releases named.
constexpr std::array kVllmMemoryRules{
    // V0 to 0.7, then from 0.8 on; "GB" is GiB (startup_log.hpp).
    MemoryRule{"Loading model weights took # G", {&Memory::weights_gib}},
    MemoryRule{"Model loading took # G", {&Memory::weights_gib}},
    // V0 of November 2024 (0.6.4): one line of key=value.
    MemoryRule{"total_gpu_memory=# G", {&Memory::total_gib}},
    MemoryRule{"non_torch_memory=# G", {&Memory::non_torch_gib}},
    MemoryRule{"kv_cache_size=# G", {&Memory::available_kv_gib}},
    // V0 of December 2024 (pull request 10511): a table of blanks and tabs.
    MemoryRule{"total_gpu_memory # G", {&Memory::total_gib}},
    MemoryRule{"the current vLLM instance can use # G", {&Memory::requested_gib}},
    MemoryRule{"non_torch_memory # G", {&Memory::non_torch_gib}},
    MemoryRule{"PyTorch activation peak memory # G", {&Memory::activation_gib}},
    MemoryRule{"available_kv_cache_memory # G", {&Memory::available_kv_gib}},
    // V0, 0.6.6 to 0.9: a sentence.
    MemoryRule{"total_gpu_memory (# G", {&Memory::total_gib}},
    MemoryRule{"gpu_memory_utilization (#) = # G", {nullptr, &Memory::requested_gib}},
    MemoryRule{"model weights take # G", {&Memory::weights_gib}},
    MemoryRule{"non_torch_memory takes # G", {&Memory::non_torch_gib}},
    MemoryRule{"PyTorch activation peak memory takes # G", {&Memory::activation_gib}},
    MemoryRule{"the rest of the memory reserved for KV Cache is # G", {&Memory::available_kv_gib}},
    // V1; the two of torch at log level DEBUG.
    MemoryRule{"Initial free memory: # GiB; Requested memory: # (util), # GiB",
               {&Memory::free_gib, nullptr, &Memory::requested_gib}},
    MemoryRule{"torch peak memory increase: # G", {&Memory::activation_gib}},
    MemoryRule{"non-torch forward increase memory: # G", {&Memory::non_torch_gib}},
    MemoryRule{"weights memory: # G", {&Memory::weights_gib}},
    MemoryRule{"Available KV cache memory: # G", {&Memory::available_kv_gib}},
    // V1 from 0.10: the same wording when it starts (DEBUG, later INFO) and when it does not.
    MemoryRule{"Free memory on device*(#/# GiB) on startup",
               {&Memory::free_gib, &Memory::total_gib}},
    MemoryRule{"esired GPU memory utilization*(#, # GiB)", {nullptr, &Memory::requested_gib}},
    MemoryRule{"Actual usage is # GiB for weight, # GiB for peak activation, # GiB for non-torch",
               {&Memory::weights_gib, &Memory::activation_gib, &Memory::non_torch_gib}},
    // V1 after 0.22.
    MemoryRule{"Actual usage is # GiB for consumed memory*, # GiB for peak activation",
               {&Memory::consumed_gib, &Memory::activation_gib}},
    MemoryRule{"Current kv cache memory in use is # GiB", {&Memory::available_kv_gib}},
    MemoryRule{"Graph capturing finished in # secs, took # GiB", {nullptr, &Memory::graph_gib}},
    MemoryRule{"Estimated CUDA graph memory: # GiB", {&Memory::graph_estimate_gib}},
    MemoryRule{"CUDA graph pool memory: # GiB (actual), # GiB (estimated)",
               {&Memory::graph_gib, &Memory::graph_estimate_gib}},
};

constexpr std::array kVllmCountRules{
    CountRule{"GPU KV cache size: # tokens", {&StartupLog::kv_tokens}},
    CountRule{"GPU blocks: #", {&StartupLog::gpu_blocks}},  // V0 and V1 to 0.7
    CountRule{"CUDA blocks: #", {&StartupLog::gpu_blocks}},
    CountRule{"cuda blocks: #", {&StartupLog::gpu_blocks}},  // V0, 0.7 to 0.9
    CountRule{"CPU blocks: #", {&StartupLog::cpu_blocks}},
    CountRule{"Using max model len #", {&StartupLog::max_model_len}},
    CountRule{"Chunked prefill is enabled with max_num_batched_tokens=#",
              {&StartupLog::max_num_batched_tokens}},
    CountRule{"orcing kv cache block size to #", {&StartupLog::block_size}},
    CountRule{"etting kv cache block size to #", {&StartupLog::block_size}},
    CountRule{"Setting attention block size to # tokens", {&StartupLog::attention_block_size}},
};

struct Setting {
  std::string_view key;
  FoundText StartupLog::*text = nullptr;
  FoundCount StartupLog::*count = nullptr;
};
constexpr std::array kSettings{
    Setting{.key = "model", .text = &StartupLog::model},
    Setting{.key = "dtype", .text = &StartupLog::dtype},
    Setting{.key = "quantization", .text = &StartupLog::quantization},
    Setting{.key = "kv_cache_dtype", .text = &StartupLog::kv_cache_dtype},
    Setting{.key = "tensor_parallel_size", .count = &StartupLog::tensor_parallel},
    Setting{.key = "pipeline_parallel_size", .count = &StartupLog::pipeline_parallel},
    Setting{.key = "decode_context_parallel_size", .count = &StartupLog::context_parallel},
    Setting{.key = "max_seq_len", .count = &StartupLog::max_model_len},
    Setting{.key = "max_model_len", .count = &StartupLog::max_model_len},
    Setting{.key = "max_num_seqs", .count = &StartupLog::max_num_seqs},
    Setting{.key = "max_num_batched_tokens", .count = &StartupLog::max_num_batched_tokens},
    Setting{.key = "block_size", .count = &StartupLog::block_size},
};

// Arguments as given: the API server's, before anything starts.
bool is_arguments(std::string_view text) {
  return contains(text, "non-default args: {") || contains(text, "args: Namespace(");
}
bool is_engine_start(std::string_view text) {
  return contains(text, "Initializing a V1 LLM engine") ||
         contains(text, "Initializing a V0 LLM engine") ||
         contains(text, "Initializing an LLM engine");
}

// "0.19.1" of "(v0.19.1)" or "version 0.19.1", behind `lead`.
std::string version_after(std::string_view text, std::string_view lead) {
  const std::size_t at = text.find(lead);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + lead.size());
  const std::string_view version = rest.substr(0, rest.find_first_of(" )\t"));
  const bool is_release = !version.empty() && version[0] >= '0' && version[0] <= '9' &&
                          !version.starts_with("0.0.0");  // a build without a tag
  return is_release ? std::string(version) : std::string{};
}

}  // namespace

void VllmLogReader::read(const LogLine& line) {
  read_start(line);
  read_settings(line);
  read_figures(line);
  read_phase(line);
  read_failure(line);
}

void VllmLogReader::start_again() {
  StartupLog fresh;
  fresh.version = std::move(log_.version);  // announced before the arguments
  fresh.starts = log_.starts + 1;
  log_ = std::move(fresh);
  phase_ = Phase::loading;
  generic_failure_ = false;
  started_.clear();
}

void VllmLogReader::read_start(const LogLine& line) {
  const bool start = is_engine_start(line.text);
  if (is_arguments(line.text)) {
    if (!started_.empty()) start_again();
  } else if (start) {
    if (started_.contains(line.rank)) start_again();
    started_.insert(line.rank);
    ++marks_;
  }
  std::string version = version_after(line.text, "vLLM API server version ");
  if (version.empty() && start) version = version_after(line.text, " LLM engine (v");
  if (version.empty() && contains(line.text, kBlockLetter))
    version = version_after(line.text, " version ");
  if (version.empty()) return;
  ++marks_;
  log_.version = {version, line.number};
}

void VllmLogReader::read_settings(const LogLine& line) {
  if (is_arguments(line.text) || (is_engine_start(line.text) && contains(line.text, "config:"))) {
    for (const Setting& setting : kSettings) {
      const std::optional<std::string> value = python_value(line.text, setting.key);
      if (!value) continue;
      if (setting.text != nullptr) log_.*setting.text = {*value, line.number};
      const std::optional<double> number = to_number(*value);
      if (setting.count == nullptr || !number) continue;
      log_.*setting.count = {to_count(*number), line.number};
    }
    const std::optional<std::string> share = python_value(line.text, "gpu_memory_utilization");
    if (const auto number = share ? to_number(*share) : std::nullopt) {
      log_.gpu_memory_utilization = {*number, line.number};
    }
  }
  constexpr std::string_view kLoads = "Starting to load model ";
  const std::size_t at = line.text.find(kLoads);
  if (at == std::string::npos || log_.model) return;
  std::string model = line.text.substr(at + kLoads.size());
  if (model.ends_with("...")) model.resize(model.size() - 3);
  log_.model = {model, line.number};
}

void VllmLogReader::read_figures(const LogLine& line) {
  const bool memory = apply_rules(kVllmMemoryRules, line, log_);
  const bool counts = apply_rules(kVllmCountRules, line, log_);
  marks_ += memory || counts ? 1 : 0;

  std::array<double, 2> numbers{};
  if (find_pattern(line.text, "Maximum concurrency for # tokens per request: #x", numbers)) {
    log_.max_concurrency_len = {to_count(numbers[0]), line.number};
    log_.max_concurrency = {numbers[1], line.number};
  }
  // 0.6.4 and 0.6.5 print the peak of torch, weights included.
  if (find_pattern(line.text, "peak_torch_memory=# G", numbers)) {
    RankMemory& memory_now = memory_of(log_, line);
    if (memory_now.weights_gib) {
      memory_now.activation_gib = {numbers[0] - memory_now.weights_gib->value, line.number};
    }
  }
  // The arguments hold it exactly; these messages round it to two digits.
  for (const std::string_view pattern :
       {"gpu_memory_utilization (#)", "gpu_memory_utilization #", "gpu_memory_utilization=#",
        "esired GPU memory utilization*(#, # GiB)", "Requested memory: # (util)"}) {
    if (log_.gpu_memory_utilization || !find_pattern(line.text, pattern, numbers)) continue;
    log_.gpu_memory_utilization = {numbers[0], line.number};
  }
  if (contains(line.text, "CUDA graph memory profiling is enabled")) log_.graphs_in_budget = true;
}

void VllmLogReader::read_phase(const LogLine& line) {
  if (contains(line.text, "Application startup complete")) {
    phase_ = Phase::serving;
  } else if (contains(line.text, "Graph capturing finished")) {
    phase_ = Phase::warm_up;
  } else if (contains(line.text, "Capturing CUDA graphs") ||
             contains(line.text, "Capturing the model for CUDA graphs") ||
             contains(line.text, "Capturing cudagraphs")) {
    phase_ = Phase::capture;
  } else if (contains(line.text, "GPU KV cache size:") || contains(line.text, " blocks: ")) {
    phase_ = Phase::pool;
  } else if (phase_ == Phase::loading && (contains(line.text, "Model loading took") ||
                                          contains(line.text, "Loading model weights took"))) {
    phase_ = Phase::profiling;
  }
}

StartupStage VllmLogReader::stage() const {
  switch (phase_) {
    case Phase::loading: return StartupStage::weights;
    case Phase::profiling: return StartupStage::profiling;
    case Phase::pool: return StartupStage::kv_allocation;
    case Phase::capture: return StartupStage::graph_capture;
    default: return StartupStage::warm_up;
  }
}

void VllmLogReader::fail(const LogLine& line, std::string_view message, StartupStage stage) {
  if (log_.failure && !generic_failure_) return;
  generic_failure_ = false;
  log_.failure = LogFailure{.stage = stage,
                            .text = from_message(line.text, message),
                            .line = line.number,
                            .needed_gib = std::nullopt,
                            .largest_model_len = std::nullopt};
}

void VllmLogReader::read_failure(const LogLine& line) {
  const std::string& text = line.text;
  std::array<double, 3> numbers{};
  if (contains(text, "is less than desired GPU memory utilization")) {
    fail(line, "Free memory on device", StartupStage::free_memory_check);
  } else if (contains(text, "No available memory for the cache blocks")) {
    fail(line, "No available memory", StartupStage::blocks);
  } else if (find_pattern(text, "max seq len (#)*# G*KV cache is*needed*larger than the available",
                          numbers)) {
    if (log_.failure && !generic_failure_) return;
    fail(line, "max seq len (", StartupStage::max_length_request);
    log_.failure->needed_gib = {numbers[1], line.number};
    if (find_pattern(text, "estimated maximum model length is #", numbers)) {
      log_.failure->largest_model_len = {to_count(numbers[0]), line.number};
    }
  } else if (find_pattern(text,
                          "max seq len (#) is larger than the maximum number of tokens that can "
                          "be stored in KV cache (#)",
                          numbers)) {
    if (log_.failure && !generic_failure_) return;
    fail(line, "max seq len (", StartupStage::max_length_request);
    log_.failure->largest_model_len = {to_count(numbers[1]), line.number};
  } else if (contains(text, "CUDA out of memory occurred when warming up sampler")) {
    fail(line, "CUDA out of memory", StartupStage::warm_up);
  } else if (contains(text, "Error in memory profiling.")) {
    fail(line, "Error in memory profiling.", StartupStage::profiling);
  } else if (phase_ != Phase::serving && !log_.failure) {
    for (const std::string_view message :
         {"CUDA out of memory", "CUDA error: out of memory", "HIP out of memory"}) {
      if (!contains(text, message)) continue;
      fail(line, message, stage());
      generic_failure_ = true;
      break;
    }
  }
}

void VllmLogReader::list_missing() {
  const RankMemory& memory = log_.memory;
  const auto expect = [&](bool found, std::string_view message) {
    if (!found) log_.missing.emplace_back(message);
  };
  expect(log_.version.has_value(), "vLLM API server version ...");
  expect(memory.weights_gib.has_value(), "Model loading took ... GiB");
  expect(memory.total_gib.has_value(), "Free memory on device (.../... GiB)");
  expect(memory.activation_gib.has_value(), "torch peak memory increase: ... GiB");
  expect(memory.non_torch_gib.has_value(), "non-torch forward increase memory: ... GiB");
  expect(memory.available_kv_gib.has_value(), "Available KV cache memory: ... GiB");
  expect(log_.kv_tokens || log_.gpu_blocks, "GPU KV cache size: ... tokens");
  if (!memory.activation_gib && memory.available_kv_gib) {
    log_.notes.emplace_back("vLLM logs the parts other than KV only with VLLM_LOGGING_LEVEL=DEBUG");
  }
}

StartupLog VllmLogReader::finish() {
  settle_ranks(log_);
  RankMemory& memory = log_.memory;
  if (memory.consumed_gib && memory.weights_gib && !memory.non_torch_gib) {
    memory.non_torch_gib = {memory.consumed_gib->value - memory.weights_gib->value,
                            memory.consumed_gib->line};
  }
  if (log_.graphs_in_budget && memory.consumed_gib && memory.activation_gib &&
      memory.graph_estimate_gib) {
    // That sentence's peak is all that the pool leaves: the graphs' estimate is part of it.
    double& peak = memory.activation_gib->value;
    peak = std::max(0.0, peak - memory.graph_estimate_gib->value);
  }
  list_missing();
  return std::move(log_);
}

}  // namespace headroom
