#pragma once
// What a rule without constants of its own estimates: the tensors of a forward pass that are alive
// together, the device context, communication buffers and captured graphs. Everything here is an
// estimate (ENGINES.md 8); rules fitted on start-up logs keep their own figures.

#include <cstdint>
#include <string_view>

#include "hardware/budget/budget.hpp"
#include "hardware/llm/model_spec.hpp"

namespace headroom {

struct ForwardPass {
  std::int64_t tokens = 0;       // computed by the pass, on every rank
  std::int64_t logits_rows = 0;  // rows whose logits exist
  std::int64_t images = 0;       // encoded in one pass of the vision tower
};

struct ActivationPeak {
  ByteCount layers = 0;  // widest phase of the widest layer, residual included
  ByteCount logits = 0;  // 16-bit logits and their fp32 copy
  ByteCount vision = 0;  // the encoder runs before the layers
  // The three phases follow each other.
  [[nodiscard]] ByteCount peak() const;
};

// Of one rank of a pipeline stage. Logits exist on the last stage, images on the first.
[[nodiscard]] ActivationPeak activation_peak(const ModelSpec& model, const Sharding& sharding,
                                             std::int64_t stage, const ForwardPass& pass);

// Live set of one layer: the residual and its normed copy, and the larger of the mixer's
// projections with their output and of the MLP's (or routed experts') wide products.
[[nodiscard]] ByteCount layer_live_bytes(const ModelSpec& model, const LayerKind& kind,
                                         const Sharding& sharding, std::int64_t tokens);

// Attention scores of one layer where no fused kernel is used: batch x heads x tokens^2, of the
// layer with most heads, `bytes_per_score` each.
[[nodiscard]] ByteCount attention_score_bytes(const ModelSpec& model, const Sharding& sharding,
                                              std::int64_t batch, std::int64_t tokens,
                                              std::int64_t bytes_per_score);

// CUDA context with cuBLAS: 551 MB, measured by aiconfigurator (ENGINES.md 8); 0.3-0.6 GiB seen.
inline constexpr ByteCount kContextBytes = 551'000'000;

// NCCL: 342 MiB for two tensor ranks, 392 for more, 0 alone (aiconfigurator, ENGINES.md 8).
[[nodiscard]] ByteCount communication_bytes(const Sharding& sharding);

// Graphs of decode steps: 5 MiB per captured batch size, the upper end of ENGINES.md 8.
[[nodiscard]] ByteCount decode_graph_bytes(std::int64_t sizes);

// The device's memory: as the machine reports it, else as the catalog does.
[[nodiscard]] ByteCount capacity_of(const BudgetInputs& inputs);

// ConfigError when no layer of the stage keeps KV: a pool of tokens is no rule for such a model.
void check_keeps_kv(const KvLayout& layout, const ModelSpec& model, std::string_view engine);

// The model without its recurrent layers' states, for engines that keep them outside the pool.
[[nodiscard]] ModelSpec without_states(ModelSpec model);

// False, and a failure of the stage kv_allocation, when `pool_bytes` are more than the driver can
// still give: free memory less the machine's slack. `text` is what the engine says.
bool pool_is_allocatable(BudgetBuilder& builder, const MachineMemory& machine, ByteCount pool_bytes,
                         std::string_view text);

}  // namespace headroom
