#pragma once
// Why a real start-up and a modelled one differ: every term the log reports beside the modelled
// one, and what each adds to or takes from the memory for KV. What the terms do not account for is
// named as such.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engines/startup_log.hpp"

namespace headroom {

// The budget to compare with, per rank, from any source; GiB = 2^30 bytes.
struct ModelledMemory {
  double total_gib = 0;  // device memory
  double share = 0.9;    // that the engine may use, of the total or of the rest
  double weights_gib = 0;
  double activation_gib = 0;
  double non_torch_gib = 0;  // growth outside torch: context, NCCL, workspaces
  double graph_gib = 0;
  bool graphs_in_budget = false;  // graph_gib is subtracted before the pool is sized
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

// The terms of one start-up as they are found.
class Attributor {
 public:
  Attributor(const StartupLog& log, const ModelledMemory& modelled);

  [[nodiscard]] const StartupLog& log() const { return log_; }
  [[nodiscard]] const ModelledMemory& modelled() const { return modelled_; }

  // `coefficient`: GiB of pool per unit of the term.
  void add(MemoryCause cause, const FoundNumber& reported, double modelled, double coefficient,
           std::string why);
  // The same with an effect on the pool that no coefficient gives.
  void add_effect(MemoryCause cause, const FoundNumber& reported, double modelled,
                  double coefficient, double effect_gib, std::string why);

  [[nodiscard]] std::vector<Attribution> run();

 private:
  void add_rest();
  void add_tokens();
  [[nodiscard]] std::string token_reason(double reported) const;

  const StartupLog& log_;
  const ModelledMemory& modelled_;
  FoundNumber pool_;
  std::vector<Attribution> found_;
  std::vector<std::string> unreported_;
  int figures_ = 0;  // of the log, that enter the sum
};

// `pool` first, then the causes. The effects add up to reported - modelled memory for KV, checked
// to 1e-9 GiB. A log without a pool (start-up failed before) gives the terms without `rounding` and
// `unexplained`: there is no difference to explain.
[[nodiscard]] std::vector<Attribution> attribute(const StartupLog& log,
                                                 const ModelledMemory& modelled);

}  // namespace headroom
