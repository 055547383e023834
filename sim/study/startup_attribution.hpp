#pragma once
// Why a real start-up and a modelled one differ: every term the log reports beside the modelled
// one, and what each adds to or takes from the memory for KV. What the terms do not account for is
// named as such.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/study/startup_log.hpp"

namespace headroom {

// The budget to compare with, per rank, whoever computed it; GiB = 2^30 bytes.
struct ModelledMemory {
  double total_gib = 0;  // device memory
  double share = 0.9;  // vLLM: gpu_memory_utilization, of the total; TensorRT-LLM: of what is left
  double weights_gib = 0;
  double activation_gib = 0;
  double non_torch_gib = 0;  // growth outside torch: context, NCCL, workspaces
  double graph_gib = 0;
  bool graphs_in_budget = false;  // vLLM: graph_gib is subtracted before the pool is sized
  double others_gib = 0;          // not free before the engine starts
  double kv_gib = 0;              // left for KV
  // The pool in tokens and how the model counts them.
  std::int64_t kv_tokens = 0;
  std::int64_t kv_blocks = 0;
  std::int64_t kv_groups = 1;  // of layers that share the block ids (ENGINES.md 2.4)
  std::int64_t block_size = 16;
  double max_concurrency = 0;  // requests of max_model_len
  std::int64_t max_model_len = 0;
};

enum class MemoryCause : std::uint8_t {
  pool,            // what is being explained: reported and modelled memory for KV; no effect
  total_memory,    // the driver or firmware reports another total
  share,           // utilization or fraction
  weights,         // larger or smaller
  activation,      // peak of the profiling pass
  outside_torch,   // growth outside torch; TensorRT-LLM: with graphs and other processes
  graphs,          // estimate of captured graphs
  others,          // taken before the engine starts
  peak,            // TensorRT-LLM: the whole peak, where the log does not split it
  rounding,        // logs print two digits: up to 0.005 GiB per figure
  unexplained,     // the rest, terms that the log does not report among it
  token_counting,  // the same pool in tokens, counted in another way; no effect in GiB
};
[[nodiscard]] std::string_view name_of(MemoryCause cause);

struct Attribution {
  MemoryCause cause = MemoryCause::unexplained;
  std::optional<double> reported;  // GiB; of `share` a fraction, of `token_counting` tokens
  std::optional<double> modelled;  // in the same unit
  double pool_effect_gib = 0;      // what it adds to the reported pool, compared with the modelled
  std::int64_t line = 0;           // of the log; 0 when the log does not report it
  std::string why;

  [[nodiscard]] std::optional<double> difference() const {
    if (!reported || !modelled) return std::nullopt;
    return *reported - *modelled;
  }
};

// `pool` first, then the causes. The effects add up to reported - modelled memory for KV, checked
// to 1e-9 GiB. A log without a pool (start-up failed before) gives the terms without `rounding` and
// `unexplained`: there is no difference to explain.
//
// vLLM (ENGINES.md 1.1): kv = total * utilization - weights - activation - outside - graphs in the
// budget. TensorRT-LLM (1.3): kv = fraction * (total - weights - activation - everything else).
[[nodiscard]] std::vector<Attribution> attribute(const StartupLog& log,
                                                 const ModelledMemory& modelled);

}  // namespace headroom
