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

namespace headroom {

// The sources that the rule was read from are of 0.5; before it the default fraction was a table.
inline constexpr EngineVersion kNewestSglang{0, 5};

struct SglangDefaults {
  std::int64_t chunked_prefill_size = 8192;
  std::int64_t cuda_graph_max_bs = 256;
  std::int64_t max_prefill_tokens = 16384;
  std::int32_t page_size = 1;
};
// ENGINES.md 6.3, by device memory and tensor ranks. The model does not matter.
[[nodiscard]] SglangDefaults sglang_defaults(const DeviceSpec& device, const ModelSpec& model,
                                             EngineVersion version, const Sharding& sharding);

enum class SglangSpeculation : std::uint8_t { none, ngram, eagle, standalone };

struct SglangBudgetOptions {
  EngineVersion version = kNewestSglang;
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
  bool enable_dp_attention = false;
  std::int64_t dp_size = 1;
  std::int64_t piecewise_cuda_graph_sizes = 0;  // 0: no piecewise graphs
  SglangSpeculation speculative_algorithm = SglangSpeculation::none;
  // Models with recurrent layers: bytes of states / bytes of KV, or a number of states.
  double mamba_full_memory_ratio = 0.9;
  std::optional<std::int64_t> max_mamba_cache_size{};
  // Layers with a window get a pool of this share of the full layers' tokens, for the architectures
  // the engine does so (Llama 4, gpt-oss, MiMo-V2, Gemma 4); all others keep every token in every
  // layer.
  double swa_full_tokens_ratio = 0.8;
  std::optional<bool> hybrid_swa_memory{};  // absent: by architecture
};

// Memory that the default fraction keeps back, in MiB.
[[nodiscard]] double sglang_reserved_mib(const SglangBudgetOptions& options,
                                         const SglangDefaults& defaults, const Sharding& sharding,
                                         double device_mib);
// (device - reserve) / device in three decimals; 0.88 when the device's memory is not known (0).
[[nodiscard]] double sglang_mem_fraction_static(double device_mib, double reserved_mib);

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
