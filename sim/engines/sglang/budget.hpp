#pragma once
// The start-up budget of SGLang: mem_fraction_static is a share of the memory AVAILABLE BEFORE the
// weights are loaded and covers weights and KV pool; activations and graphs live in the rest and
// nothing is profiled. Rule: ENGINES.md 1.4, 6.3 (SGLang server_args, model_runner); recurrent
// states, window pools and the request table: model_runner_kv_cache_mixin.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/budget/budget.hpp"
#include "hardware/engine_version.hpp"
#include "sim/engines/sglang/defaults.hpp"

namespace headroom {

// The newest release whose rules were read is 0.5.16.
inline constexpr EngineVersion kNewestSglang{0, 5};

struct SglangBudgetOptions {
  SglangRelease release{};
  std::optional<double> mem_fraction_static{};         // (0, 1); absent: by the reserve below
  std::optional<std::int64_t> chunked_prefill_size{};  // tokens; -1: no chunks
  std::int64_t max_prefill_tokens = 16384;
  std::optional<std::int64_t> cuda_graph_max_bs{};
  bool disable_cuda_graph = false;
  std::optional<std::int64_t> context_length{};  // prompt + output; absent: the model's
  std::optional<TokenCount> max_total_tokens{};  // of the pool at most
  std::optional<std::int64_t> max_running_requests{};
  std::int32_t page_size = 1;
  bool disable_radix_cache = false;
  std::optional<bool> piecewise_cuda_graph{};  // absent: by release, device and model
  SglangSpeculation speculative_algorithm = SglangSpeculation::none;
  std::int64_t draft_tokens = 0;  // of a sequence that a round verifies; 0: no drafts
  std::int64_t tree_tokens = 0;   // drafts of a sequence: steps x topk
  // Models with recurrent layers: bytes of states / bytes of KV, or a number of states.
  double mamba_full_memory_ratio = 0.9;
  std::optional<std::int64_t> max_mamba_cache_size{};
  // Layers with a window get a pool of this share of the full layers' tokens, for the architectures
  // the engine does so (Llama 4, gpt-oss, MiMo-V2, Gemma 4); all others keep every token in every
  // layer.
  double swa_full_tokens_ratio = 0.8;
  std::optional<bool> hybrid_swa_memory{};  // absent: by architecture
};

// What the default mem_fraction_static keeps back memory for.
[[nodiscard]] SglangReserve sglang_reserve(const SglangBudgetOptions& options,
                                           const SglangDefaults& defaults, const DeviceSpec& device,
                                           const ModelSpec& model, const Sharding& sharding);
// mem_fraction_static where the user gives none.
[[nodiscard]] double sglang_fraction(const SglangBudgetOptions& options,
                                     const SglangDefaults& defaults, const DeviceSpec& device,
                                     const ModelSpec& model, const Sharding& sharding);

// States of recurrent layers are charged to kv_pool beside kv_pool_bytes, the table of token
// positions per request (4 bytes each) to context. Activations are charged
// as far as they fit: where they do not, the engine starts and fails at the first long prompt (a
// note).
[[nodiscard]] MemoryBudget sglang_budget(const BudgetInputs& inputs,
                                         const SglangBudgetOptions& options);

// Requests that run together: asked for, or clamp(tokens / context_length * 512, 2048, 4096); at
// most a third of the recurrent states (all of them without radix cache).
[[nodiscard]] std::int64_t sglang_max_running_requests(const BudgetInputs& inputs,
                                                       const SglangBudgetOptions& options,
                                                       const MemoryBudget& budget);

[[nodiscard]] std::vector<std::string> sglang_budget_warnings(const BudgetInputs& inputs,
                                                              const SglangBudgetOptions& options);

}  // namespace headroom
