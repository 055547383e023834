#pragma once
// Ollama as the settings that it starts llama.cpp with: num_ctx cells per parallel request, one
// type for keys and values, as many layers on the device as fit. Sources: Ollama's documentation of
// the context length, its issues 9246, 6927 and pull request 14120 (tiers since 0.15.5, cache =
// num_ctx x parallel), llm/server.go (a quantised cache without flash attention becomes f16).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/engines/llamacpp/budget.hpp"

namespace headroom {

inline constexpr EngineVersion kNewestOllama{0, 34};

// Tokens of an encoder's micro batch, to which its inputs are cut: 2048 from 0.30
// (llm/llama_server.go, DefaultEmbeddingNumBatchForContext), num_ctx from 0.13 (0.13.3,
// llm/server.go), 512 before (api/types.go); no more than num_ctx.
[[nodiscard]] std::int64_t ollama_embedding_batch(EngineVersion version, std::int64_t num_ctx);

struct OllamaDefaults {
  std::int64_t num_ctx = 4096;
  std::int64_t num_parallel = 1;
};
// num_ctx: 2048 before 0.7, 4096 to 0.15 (8192 for gpt-oss from 0.11 on, with 20 GiB), then by the
// memory of all devices together: 4096 below 23 GiB, 32768 below 47, 262144 from there
// (server/routes.go, pull requests 11794 and 13946). num_parallel: 4 before 0.7, 2 before 0.10 (1
// where they do not fit), then 1 (envconfig/config.go, server/sched.go).
[[nodiscard]] OllamaDefaults ollama_defaults(const DeviceSpec& device, std::int64_t devices,
                                             const ModelSpec& model, EngineVersion version);

struct OllamaBudgetOptions {
  EngineVersion version = kNewestOllama;
  std::optional<std::int64_t> num_ctx{};       // of one request (OLLAMA_CONTEXT_LENGTH)
  std::optional<std::int64_t> num_parallel{};  // OLLAMA_NUM_PARALLEL
  Dtype kv_cache_type = Dtype::fp16;           // OLLAMA_KV_CACHE_TYPE: f16, q8_0, q4_0
  std::optional<bool> flash_attention{};       // OLLAMA_FLASH_ATTENTION; absent: by release, model
  std::optional<std::int64_t> num_gpu{};       // layers on the device; absent: as many as fit
  bool use_mmap = true;
};

// The settings of the runner, and what was changed on the way there.
struct OllamaRunner {
  LlamacppBudgetOptions options;
  std::vector<std::string> notes;
};
[[nodiscard]] OllamaRunner ollama_runner(const BudgetInputs& inputs,
                                         const OllamaBudgetOptions& options);

[[nodiscard]] MemoryBudget ollama_budget(const BudgetInputs& inputs,
                                         const OllamaBudgetOptions& options);

[[nodiscard]] std::vector<std::string> ollama_budget_warnings(const BudgetInputs& inputs,
                                                              const OllamaBudgetOptions& options);

}  // namespace headroom
