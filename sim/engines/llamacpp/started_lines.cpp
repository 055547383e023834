// Lines of llama.cpp (src/llama-model.cpp, llama-context.cpp, llama-kv-cache*.cpp and what they
// were called before) and of Ollama, which writes lines of its own beside those of the runner
// (llm/server.go, ml/backend/ggml/ggml.go, ml/device.go).

#include <algorithm>
#include <array>
#include <string>

#include "sim/engines/llamacpp/engine.hpp"
#include "sim/engines/log_text.hpp"
#include "sim/engines/memory_message.hpp"
#include "sim/engines/started_log.hpp"

namespace headroom {
namespace {

using Said = StartFigure;

constexpr double kGibPerMb = 1e6 / (1024.0 * 1024 * 1024);  // Metal's limit is in 10^6 bytes

// A device has one buffer of weights and of a step, and one of KV for each kind of attention.
constexpr StartLine buffer(std::string_view pattern, std::string_view behind, Said which) {
  return {.pattern = pattern,
          .figures = {which},
          .gib = kGibPerMib,
          .device_before = behind,
          .adds = which != Said::activations};
}

constexpr std::array kLlamacppStarted{
    buffer("model buffer size = # MiB", " model buffer size", Said::weights),
    buffer("KV buffer size = # MiB", " KV buffer size", Said::kv),
    buffer("RS buffer size = # MiB", " RS buffer size", Said::states),
    buffer("compute buffer size = # MiB", " compute buffer size", Said::activations),
    // Until the end of 2024 weights had no name.
    buffer("llm_load_tensors: * buffer size = # MiB", " buffer size", Said::weights),
    StartLine{.pattern = "using device * - # MiB free",
              .figures = {Said::free_before},
              .gib = kGibPerMib},
    StartLine{.pattern = "recommendedMaxWorkingSetSize = # MB",
              .figures = {Said::total},
              .gib = kGibPerMb},
    StartLine{.pattern = "recommendedMaxWorkingSetSize = # MiB",
              .figures = {Said::total},
              .gib = kGibPerMib},
    StartLine{.pattern = "n_ctx = #", .figures = {Said::pool_tokens}},
    StartLine{.pattern = "n_ctx_per_seq = #", .figures = {Said::context_length}},
    StartLine{.pattern = "n_ctx_seq = #", .figures = {Said::context_length}},
    StartLine{.pattern = "n_seq_max = #", .figures = {Said::requests}},
};

constexpr std::array<std::string_view, 8> kLlamacppMarks{
    "model buffer size",   "KV buffer size",  "compute buffer size",  "load_tensors:",
    "llama_model_loader:", "llama_context: ", "llama_new_context_wi", "ggml_cuda_init:"};

// "8.5 GiB" and "936.0 MiB" of one message.
constexpr StartLine sized(std::string_view pattern, Said which, double gib, std::string_view key) {
  return {.pattern = pattern, .figures = {which}, .gib = gib, .device_behind = key};
}
constexpr std::string_view kDeviceKey = "device=";
constexpr std::string_view kBufferKey = "buffer=";
constexpr std::string_view kBackendKey = "backend=";

constexpr std::array kOllamaStarted{
    sized("msg=\"model weights\" device=*size=\"# GiB", Said::weights, 1, kDeviceKey),
    sized("msg=\"model weights\" device=*size=\"# MiB", Said::weights, kGibPerMib, kDeviceKey),
    sized("msg=\"model weights\" buffer=*size=\"# GiB", Said::weights, 1, kBufferKey),
    sized("msg=\"model weights\" buffer=*size=\"# MiB", Said::weights, kGibPerMib, kBufferKey),
    sized("msg=\"kv cache\" device=*size=\"# GiB", Said::kv, 1, kDeviceKey),
    sized("msg=\"kv cache\" device=*size=\"# MiB", Said::kv, kGibPerMib, kDeviceKey),
    sized("msg=\"compute graph\" device=*size=\"# GiB", Said::activations, 1, kDeviceKey),
    sized("msg=\"compute graph\" device=*size=\"# MiB", Said::activations, kGibPerMib, kDeviceKey),
    sized("msg=\"compute graph\" backend=*size=\"# GiB", Said::activations, 1, kBackendKey),
    sized("msg=\"compute graph\" backend=*size=\"# MiB", Said::activations, kGibPerMib,
          kBackendKey),
    StartLine{.pattern = "msg=\"inference compute\"*total=\"# GiB\" available=\"# GiB\"",
              .figures = {Said::total, Said::free_before}},
    // The estimate before a load; its weights and KV are those of the host, too.
    StartLine{.pattern = "memory.available=\"[# GiB]\"*memory.required.allocations=\"[# GiB]\"",
              .figures = {Said::free_before, Said::allocated}},
};
constexpr std::array<std::string_view, 6> kOllamaMarks{"ollama[",
                                                       "ollama.listener",
                                                       "ollama  |",
                                                       "level=INFO source=",
                                                       "level=WARN source=",
                                                       "msg=\"model weights\""};

std::string_view between(std::string_view text, std::string_view open, std::string_view close) {
  const std::size_t at = text.find(open);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + open.size());
  const std::size_t end = rest.find(close);
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

// "Q4_K - Medium" as the option spells it.
std::string format_of(std::string_view text) {
  constexpr std::string_view kGap = " - ";
  const std::size_t gap = text.find(kGap);
  std::string format;
  for (const char c : text.substr(0, std::min(gap, text.find_last_not_of(" \r") + 1))) {
    format += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  const std::string_view size = gap == std::string_view::npos ? "" : text.substr(gap + 3);
  if (size.starts_with("Small")) return format + "_s";
  if (size.starts_with("Medium")) return format + "_m";
  return size.starts_with("Large") ? format + "_l" : format;
}

void take_board(std::string_view board, StartedLog& log) {
  if (board.empty()) return;
  log.has_several_boards = log.has_several_boards || (!log.board.empty() && log.board != board);
  log.board = board;
}

void take_board_of(std::string_view line, StartedLog& log) {
  if (contains(line, ", compute capability ")) {
    const std::size_t at = line.find("Device ");
    if (at != std::string_view::npos) {
      take_board(between(line.substr(at), ": ", ", compute capability "), log);
    }
  }
  if (contains(line, "using device ")) take_board(between(line, "(", ")"), log);
  if (contains(line, "msg=\"inference compute\"")) {
    const std::string_view described = between(line, " description=\"", "\"");  // since 0.13
    take_board(described.empty() ? between(line, " name=\"", "\"") : described, log);
  }
  constexpr std::string_view kMetal = "GPU name: ";
  if (const std::size_t at = line.find(kMetal); at != std::string_view::npos) {
    std::string_view name = line.substr(at + kMetal.size());
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    const std::string_view inside = between(name, "(", ")");  // "MTL0 (Apple M5 Max)"
    take_board(inside.empty() ? name : inside, log);
  }
}

void take_model_of(std::string_view line, StartedLog& log) {
  const std::string_view file = between(line, " tensors from ", " (version");
  if (!file.empty()) {
    const bool is_blob = contains(file, "sha256");  // Ollama's store, by the sum of the content
    log.model = is_blob ? "" : std::string(file.substr(file.find_last_of("/\\") + 1));
  }
  if (!log.model.empty()) return;
  constexpr std::array<std::string_view, 2> kNames{"general.name str              = ",
                                                   "general.name     = "};
  for (const std::string_view name : kNames) {
    const std::size_t at = line.find(name);
    if (at != std::string_view::npos) log.model = line.substr(at + name.size());
  }
}

struct LlamacppNames {
  std::string_view context;
  std::string_view layers;
  std::string_view kv_format;
};

void take_options_of(std::string_view line, const LlamacppNames& names, StartedLog& log) {
  std::array<double, 2> numbers{};
  const auto set_count = [&log](std::string_view option, double value) {
    log.options[std::string(option)] = std::to_string(to_count(value));
  };
  if (find_pattern(line, "n_ctx = #", numbers)) set_count(names.context, numbers[0]);
  if (find_pattern(line, "offloaded #/# layers to GPU", numbers)) {
    auto& options = numbers[0] < numbers[1] ? log.options : log.options_of_failure;
    options[std::string(names.layers)] = std::to_string(to_count(numbers[0]));
  }
  if (contains(line, "MiB, K (") || contains(line, "), K (")) {
    log.options[std::string(names.kv_format)] = std::string(between(line, "K (", ")"));
  }
  for (const std::string_view key : {"file type   = ", "model ftype      = "}) {
    const std::size_t at = line.find(key);
    if (at != std::string_view::npos) {
      log.options["quantization"] = format_of(line.substr(at + key.size()));
    }
  }
}

void read_llamacpp_settings(std::string_view line, StartedLog& log) {
  take_board_of(line, log);
  take_model_of(line, log);
  take_options_of(line, {"ctx_size", "n_gpu_layers", "cache_type_k"}, log);
  std::array<double, 1> number{};
  if (find_pattern(line, "build: # (", number)) {
    log.options["version"] = "b" + std::to_string(to_count(number[0]));
  }
  if (find_pattern(line, "n_seq_max = #", number)) {
    log.options["parallel"] = std::to_string(to_count(number[0]));
  }
  constexpr std::int64_t kDefaultCacheMib = 8192;
  if (find_pattern(line, "prompt cache is enabled, size limit: # MiB", number) &&
      to_count(number[0]) != kDefaultCacheMib) {
    log.options["cache_ram"] = std::to_string(to_count(number[0]));
  }
  if (contains(line, "prompt cache is disabled")) log.options["cache_ram"] = "0";
  if (find_pattern(line, "kv_unified = true", number)) log.options["kv_unified"] = "true";
}

// Ollama gives its runner the tokens of all requests that it serves at once (server/sched.go).
void take_context(double tokens, std::string_view line, std::string_view slots, StartedLog& log) {
  std::array<double, 1> parallel{1};
  if (find_pattern(line, slots, parallel) && parallel[0] >= 1) {
    log.options["num_parallel"] = std::to_string(to_count(parallel[0]));
  } else {
    parallel[0] = 1;
  }
  log.options["num_ctx"] = std::to_string(to_count(tokens / parallel[0]));
  log.figure(Said::pool_tokens) = tokens;
}

// What the server was started with (envconfig/config.go); runners say later what came of it. Empty,
// 0 and false leave the choice to the engine.
void take_server_config(std::string_view line, StartedLog& log) {
  struct Variable {
    std::string_view name;
    const char* option;
  };
  constexpr std::array kVariables{Variable{"OLLAMA_CONTEXT_LENGTH:", "num_ctx"},
                                  Variable{"OLLAMA_NUM_PARALLEL:", "num_parallel"},
                                  Variable{"OLLAMA_KV_CACHE_TYPE:", "kv_cache_type"},
                                  Variable{"OLLAMA_FLASH_ATTENTION:", "flash_attention"}};
  for (const Variable& variable : kVariables) {
    const std::size_t at = line.find(variable.name);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = line.substr(at + variable.name.size());
    const std::string_view value = rest.substr(0, rest.find_first_of(" ]"));
    if (value.empty() || value == "0" || value == "false") continue;
    log.options[variable.option] = std::string(value);
  }
}

void read_ollama_settings(std::string_view line, StartedLog& log) {
  take_board_of(line, log);
  take_model_of(line, log);
  take_options_of(line, {"num_ctx", "num_gpu", "kv_cache_type"}, log);
  const std::string_view release = between(line, "(version ", ")");
  if (!release.empty() && contains(line, "Listening on ")) log.options["version"] = release;
  if (contains(line, "msg=\"server config\"")) take_server_config(line, log);
  std::array<double, 1> number{};
  // The runner of llama.cpp says the context of all slots together, and then of each.
  if (find_pattern(line, "n_seq_max = #", number)) {
    log.options["num_parallel"] = std::to_string(to_count(number[0]));
  }
  if (find_pattern(line, "n_ctx_per_seq = #", number) ||
      find_pattern(line, "n_ctx_seq = #", number)) {
    log.options["num_ctx"] = std::to_string(to_count(number[0]));
  }
  if (find_pattern(line, "--ctx-size #", number))
    take_context(number[0], line, "--parallel #", log);
  // The runner of Ollama's own engine: of all slots together.
  if (contains(line, "msg=load ") && find_pattern(line, "KvSize:#", number) && number[0] > 0) {
    take_context(number[0], line, "Parallel:#", log);
    const std::string_view format = between(line, " KvCacheType:", " ");
    if (!format.empty()) log.options["kv_cache_type"] = format;
  }
}

}  // namespace

const StartedLines kLlamacppStartedLines{.rows = kLlamacppStarted,
                                         .marks = kLlamacppMarks,
                                         .load_begins = "main: loading model",
                                         .runs = nullptr,
                                         .read_settings = read_llamacpp_settings};

const StartedLines kOllamaStartedLines{.rows = kOllamaStarted,
                                       .marks = kOllamaMarks,
                                       .load_begins = "msg=\"starting ",
                                       .runs = &kLlamacppStartedLines,
                                       .read_settings = read_ollama_settings};

}  // namespace headroom
