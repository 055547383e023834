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

// How many layers go on the devices where the user does not say: all; all for which there is room,
// whole ones; likewise, but routed experts are left on the host before whole layers are.
enum class LlamacppFitRule : std::uint8_t { none, layers, experts };

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
  // Layers on the devices, the last ones first and the output counted as one; absent: as many as
  // fit with fit_target_bytes of each device to spare, after an unset context was lowered to
  // fit_ctx at least.
  std::optional<std::int64_t> n_gpu_layers{};
  bool output_last = false;                       // the output is counted last, whatever the build
  std::optional<LlamacppFlashAttn> flash_attn{};  // absent: by version
  // Devices that take part, the first ones; absent: all.
  std::optional<std::int64_t> devices{};
  std::optional<std::int64_t>
      n_cpu_moe{};  // the first layers whose routed experts stay on the host
  bool no_mmap = false;
  bool no_kv_offload = false;  // KV stays on the host
  bool swa_full = false;       // windows keep as many cells as other layers
  // Limit of the prompt cache in host memory; 0: none, below 0: no limit; absent: by version.
  std::optional<std::int64_t> cache_ram_mib{};
  std::optional<LlamacppFitRule> fit{};  // absent: by version
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

// Several devices are pipeline stages (split mode layer); the budget is that of the fullest one. On
// unified memory the host's part is charged too: mapped weights as page cache, which start-up does
// not need to fit. On a discrete device it is named in a note. kv_pool_bytes is the device's part
// of the cache, or the host's where the device has none; cells of windows and states are charged
// beside it.
[[nodiscard]] MemoryBudget llamacpp_budget(const BudgetInputs& inputs,
                                           const LlamacppBudgetOptions& options);

[[nodiscard]] std::vector<std::string> llamacpp_budget_warnings(
    const BudgetInputs& inputs, const LlamacppBudgetOptions& options);

}  // namespace headroom
