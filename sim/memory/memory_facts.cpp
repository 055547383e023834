#include "sim/memory/memory_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/engines/log_text.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

// Names of the files that are no repository the catalog knows: a "class" is what the row's block
// bytes say it is.
struct KnownAs {
  std::string_view name;
  std::string_view id;
};
constexpr std::array kKnownAs{
    KnownAs{"redhatai/Llama-3.3-70B-Instruct-quantized.w8a8", "llama-3.3-70b-w8a8"},
    KnownAs{"Llama-3.1-8B class", "llama-3.1-8b"},
    KnownAs{"Phi-4 (bitsandbytes 4bit)", "phi-4-bnb-4bit"},
    KnownAs{"Phi-4 class (bnb 4bit)", "phi-4-bnb-4bit"},
    KnownAs{"Qwen2.5-7B-Instruct class", "qwen2.5-7b"},
    KnownAs{"Llama-3.2-3B-Instruct Q8_0 gguf", "llama-3.2-3b"},
    KnownAs{"Qwen2-VL-7B class", "qwen2-vl-7b"},
    KnownAs{"Meta-Llama-3.1-70B-Instruct w8a8", "llama-3.1-70b-w8a8"},
};

// Device of the catalog by what the row calls its board; the total is the row's own. A class of
// boards is one of it: only the total and the defaults by memory size enter.
constexpr std::array kKnownBoards{
    KnownAs{"RTX 4090", "rtx4090"},        KnownAs{"H100", "h100-sxm"},
    KnownAs{"2x H100", "h100-sxm"},        KnownAs{"A10G/L4", "a10g"},
    KnownAs{"80GB class", "a100-80"},      KnownAs{"48GB class", "rtxa6000"},
    KnownAs{"24GB class", "rtx3090"},      KnownAs{"V100", "v100-32"},
    KnownAs{"RTX 4070", "rtx4070-laptop"},
};

// Settings of the H100 campaign: its README.
constexpr double kH100TotalGib = 79.19;
constexpr double kH100Utilization = 0.95;
constexpr std::int64_t kH100Tokens = 8192;
constexpr std::int64_t kH100Sequences = 1024;
constexpr std::int64_t kH100Block = 16;

// vLLM V0: 256 sequences; whole prompts in a step, except that chunks of 2048 tokens came on by
// themselves above 32k of max_model_len (vLLM 0.6 to 0.8, arg_utils; recalled).
constexpr std::int64_t kV0Sequences = 256;
constexpr std::int64_t kV0Tokens = 2048;
constexpr std::int64_t kV0ChunksAbove = 32768;

// Rows whose log does not name the checkpoint and whose weights match no known one.
constexpr std::string_view kUnknownCheckpoint = "Qwen2.5-0.5B class";
constexpr std::string_view kUnknownReason =
    "the logged weights (0.52 GiB) do not match a 16-bit Qwen2.5-0.5B (0.92 GiB): the checkpoint "
    "is unknown";

std::string model_of(const std::string& name, const Catalog& catalog) {
  const auto known = std::ranges::find(kKnownAs, name, &KnownAs::name);
  if (known != kKnownAs.end() && catalog.has_model(known->id)) return std::string(known->id);
  return catalog.has_model(name) ? catalog.model(name).id : "";
}

void give(Scenario& scenario, const FactRow& row, std::string_view model) {
  scenario.file = row.file;
  scenario.name = fmt::format("{}:{}", row.file, row.line);
  scenario.model = model;
  scenario.engine.name = "vllm";
  // Rows were served beyond or below the trained length; only the memory is of interest.
  scenario.engine.allow_long_max_model_len = true;
}

std::string dtype_of(const std::string& text) {
  if (text == "fp16") return "float16";
  if (text == "fp32") return "float32";
  return text == "bf16" ? "bfloat16" : "auto";
}

std::string version_of(const std::string& engine) {
  // "vLLM V0 (Jul 2025)" and "vLLM 0.8.x V0": the old engine, whatever the release.
  if (contains(engine, "V0")) return "0.7";
  std::array<double, 2> numbers{};
  std::string rest = engine.substr(std::min(engine.find("0."), engine.size()));
  if (rest.empty() || !find_pattern("v " + rest, "v 0.#", numbers)) return "";
  return fmt::format("0.{}", static_cast<std::int64_t>(numbers[0]));
}

}  // namespace

std::vector<std::string> h100_columns() {
  return {"model",
          "tp",
          "pp",
          "max_model_len",
          "dtype",
          "quantization",
          "weights_gib",
          "kv_cache_dtype",
          "activation_gib",
          "kv_cache_gib",
          "kv_cache_blocks",
          "non_torch_forward_gib"};
}

std::vector<std::string> blocks_columns() {
  return {"id",
          "gpu",
          "total_gib",
          "model",
          "tp",
          "engine",
          "gpu_mem_util",
          "weights_gib",
          "kv_gib",
          "max_model_len",
          "non_torch_gib",
          "activation_gib",
          "num_gpu_blocks"};
}

LoggedSystem h100_system(const FactRow& row, const Catalog& catalog) {
  LoggedSystem system;
  system.model_id = model_of(row.text("model"), catalog);
  if (system.model_id.empty()) {
    system.why = "the catalog has no model with this name, so its geometry cannot be checked";
    return system;
  }
  Scenario& s = system.scenario;
  give(s, row, system.model_id);
  s.device.name = "h100-sxm";
  s.device.memory_total_gib = kH100TotalGib;
  EngineSection& e = s.engine;
  e.version = "0.19";
  e.tensor_parallel_size = row.count("tp").value_or(1);
  e.pipeline_parallel_size = row.count("pp").value_or(1);
  e.max_model_len = row.count("max_model_len");
  e.dtype = dtype_of(row.text("dtype"));
  if (row.text("quantization") == "fp8 at run time") e.quantization = "fp8";
  e.kv_cache_dtype = row.text("kv_cache_dtype") == "fp8" ? "fp8" : "auto";
  e.gpu_memory_utilization = kH100Utilization;
  e.max_num_batched_tokens = kH100Tokens;
  e.max_num_seqs = kH100Sequences;
  e.block_size = kH100Block;
  return system;
}

LoggedSystem blocks_system(const FactRow& row, const Catalog& catalog) {
  LoggedSystem system;
  const auto exclude = [&system](std::string why) {
    system.model_id.clear();
    system.why = std::move(why);
    return system;
  };
  system.model_id = model_of(row.text("model"), catalog);
  if (row.text("model") == kUnknownCheckpoint) return exclude(std::string(kUnknownReason));
  if (system.model_id.empty()) {
    return exclude("the catalog has no model with this name, so its geometry cannot be checked");
  }
  if (!row.number("total_gib")) return exclude("the log does not give the device's total memory");
  if (!row.number("kv_gib") && !row.count("num_gpu_blocks")) {
    return exclude("the log has no line with the KV pool");
  }
  const std::string& gpu = row.text("gpu");
  const auto board = std::ranges::find_if(
      kKnownBoards, [&gpu](const KnownAs& known) { return gpu.starts_with(known.name); });
  const std::string version = version_of(row.text("engine"));
  if (board == kKnownBoards.end()) return exclude(fmt::format("unknown board '{}'", gpu));
  if (version.empty()) return exclude(fmt::format("unknown release '{}'", row.text("engine")));

  Scenario& s = system.scenario;
  give(s, row, system.model_id);
  s.device.name = board->id;
  s.device.memory_total_gib = row.number("total_gib");
  EngineSection& e = s.engine;
  e.version = version;
  e.tensor_parallel_size = row.count("tp").value_or(1);
  e.max_model_len = row.count("max_model_len");
  if (row.text("dtype") == "fp16") e.dtype = "float16";
  if (contains(row.text("model"), "Q8_0")) e.quantization = "q8_0";
  e.gpu_memory_utilization = row.number("gpu_mem_util");
  e.max_num_batched_tokens = row.count("max_num_batched_tokens");
  e.max_num_seqs = row.count("max_num_seqs");
  if (e.max_num_batched_tokens && e.max_num_seqs) return system;
  system.assumed = true;
  if (!e.max_num_seqs) e.max_num_seqs = kV0Sequences;
  if (!e.max_num_batched_tokens) {
    const std::int64_t length = e.max_model_len.value_or(kV0Tokens);
    e.max_num_batched_tokens = length > kV0ChunksAbove ? kV0Tokens : std::max(length, kV0Tokens);
  }
  system.why = fmt::format("assumed: max_num_seqs {}, max_num_batched_tokens {}", *e.max_num_seqs,
                           *e.max_num_batched_tokens);
  return system;
}

}  // namespace headroom
