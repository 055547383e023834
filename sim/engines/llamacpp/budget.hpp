#pragma once
// Memory of llama.cpp's server: the KV cache of all slots is allocated at start for n_ctx cells in
// total, with a compute buffer for one micro batch; weights are mapped from the file on the host
// and copied to a discrete device layer by layer. Nothing is checked but the allocations
// themselves. Rules: llama.cpp llama-context.cpp, llama-kv-cache-iswa.cpp, llama-model.cpp,
// server.cpp at b10481; sizes agree with published start-up logs (see the tests).
//
// Releases are builds: b10481 is version 0.10481.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/budget/budget.hpp"
#include "hardware/engine_version.hpp"

namespace headroom {

inline constexpr EngineVersion kNewestLlamacpp{0, 11026};

enum class LlamacppFlashAttn : std::uint8_t { off, on, automatic };

struct LlamacppDefaults {
  std::int64_t parallel = 4;  // slots
  bool kv_unified = true;
  LlamacppFlashAttn flash_attn = LlamacppFlashAttn::automatic;
  std::optional<std::int64_t> n_gpu_layers{};  // absent: as many as fit
  std::int64_t ctx_size = 0;                   // the model's
};
// Four slots on one unified cache first seen in b7079, before it one slot; flash attention and all
// layers on the device since about b6325, before it neither, and 4096 cells (recalled).
[[nodiscard]] LlamacppDefaults llamacpp_defaults(const DeviceSpec& device, const ModelSpec& model,
                                                 EngineVersion version);

struct LlamacppBudgetOptions {
  EngineVersion version{0, 10481};
  std::optional<std::int64_t> ctx_size{};  // cells of all slots together; 0: the model's length
  std::optional<std::int64_t> parallel{};  // slots; absent: automatic
  std::optional<bool> kv_unified{};        // absent: when `parallel` is
  Dtype cache_type_k = Dtype::fp16;
  Dtype cache_type_v = Dtype::fp16;  // quantised: needs flash attention
  std::int64_t ubatch_size = 512;    // tokens of a micro batch: sizes the compute buffer
  // Layers on the device, the last ones first and the output counted as one; absent: as many as fit
  // with fit_target_bytes to spare, after an unset context was lowered to fit_ctx at least.
  std::optional<std::int64_t> n_gpu_layers{};
  bool output_last = false;                       // the output is counted last, whatever the build
  std::optional<LlamacppFlashAttn> flash_attn{};  // absent: by version
  bool no_mmap = false;
  bool no_kv_offload = false;  // KV stays on the host
  bool swa_full = false;       // windows keep as many cells as other layers
  // Limit of the prompt cache in host memory; 0: none, below 0: no limit; absent: by version.
  std::optional<std::int64_t> cache_ram_mib{};
  ByteCount fit_target_bytes = ByteCount{1} << 30;
  // Of the process, when it asks for the device's free memory; absent: by device.
  std::optional<ByteCount> context_before_fit{};
  std::int64_t fit_ctx = 4096;
};

// Cells of the cache: padded to 256, in equal parts of whole 256 where slots do not share them.
struct LlamacppCells {
  std::int64_t slots = 1;
  std::int64_t streams = 1;  // caches: 1 when unified, else one per slot
  TokenCount per_stream = 0;
  TokenCount per_sequence = 0;  // longest request of a slot
  [[nodiscard]] TokenCount total() const { return streams * per_stream; }
};
[[nodiscard]] LlamacppCells llamacpp_cells(const ModelSpec& model,
                                           const LlamacppBudgetOptions& options);

// Cells of a layer with a window: window x slots (unified) and one micro batch, padded to 256.
[[nodiscard]] TokenCount llamacpp_window_cells(TokenCount window, const LlamacppCells& cells,
                                               const LlamacppBudgetOptions& options);

// All attention layers, K and V in their own types; states of recurrent layers apart, in fp32, one
// per slot.
[[nodiscard]] ByteCount llamacpp_kv_bytes(const ModelSpec& model,
                                          const LlamacppBudgetOptions& options);
[[nodiscard]] ByteCount llamacpp_state_bytes(const ModelSpec& model,
                                             const LlamacppBudgetOptions& options);

// What sits where, of one device. Host bytes are of the whole model.
struct LlamacppSplit {
  std::int64_t gpu_layers = 0;  // as n_gpu_layers counts them
  ByteCount device_weights = 0;
  ByteCount host_weights = 0;
  ByteCount device_kv = 0;  // states included
  ByteCount host_kv = 0;
  ByteCount device_compute = 0;
  ByteCount host_compute = 0;
  double host_read_share = 0;  // of layers and output; the table gives a row per token
  [[nodiscard]] ByteCount device() const { return device_weights + device_kv + device_compute; }
  [[nodiscard]] ByteCount host() const { return host_weights + host_kv + host_compute; }
};
[[nodiscard]] LlamacppSplit llamacpp_split(const BudgetInputs& inputs,
                                           const LlamacppBudgetOptions& options,
                                           std::int64_t gpu_layers, std::int64_t stage = 0);

// What others leave free on the device, and what of it the engine's own process holds when it asks
// how much is free.
[[nodiscard]] ByteCount llamacpp_free_bytes(const BudgetInputs& inputs);
[[nodiscard]] ByteCount llamacpp_context_before_fit(const DeviceSpec& device);

// Several devices are pipeline stages (split mode layer). On unified memory the host's part is
// charged too: mapped weights as page cache, which start-up does not need to fit. On a discrete
// device it is named in a note. kv_pool_bytes is the cache wherever it sits; cells of windows and
// states are charged beside it.
[[nodiscard]] MemoryBudget llamacpp_budget(const BudgetInputs& inputs,
                                           const LlamacppBudgetOptions& options);

[[nodiscard]] std::vector<std::string> llamacpp_budget_warnings(
    const BudgetInputs& inputs, const LlamacppBudgetOptions& options);

}  // namespace headroom
