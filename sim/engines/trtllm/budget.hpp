#pragma once
// The start-up budget of TensorRT-LLM (PyTorch backend): a temporary engine with a small KV pool
// runs dummy prompts, and the pool is a share of what is LEFT beside their peak:
//   peak = torch's peak + everything else that CUDA reports as not free
//   kv   = (total - peak + temporary pool) * free_gpu_memory_fraction
// Rule: ENGINES.md 1.3, 2.5 (TensorRT-LLM _util.py). It holds on 63 measured start-ups whose peak
// is known (FACTS.md 000); the peak itself is an estimate here (activations.hpp).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/budget/budget.hpp"
#include "hardware/engine_version.hpp"

namespace headroom {

inline constexpr EngineVersion kNewestTrtllm{1, 4};  // docs and sources that the rule was read from

// ENGINES.md 6.2 (llm_args); the same on every device.
struct TrtllmDefaults {
  std::int64_t max_batch_size = 2048;
  std::int64_t max_num_tokens = 8192;
  std::int64_t max_seq_len = 0;  // the model's
  std::int32_t tokens_per_block = 32;
  double free_gpu_memory_fraction = 0.9;
  std::int64_t cuda_graph_max_batch_size = 128;
};
// tokens_per_block was 64 before 1.0 (the C++ runtime's default, ENGINES.md 2.5).
[[nodiscard]] TrtllmDefaults trtllm_defaults(const DeviceSpec& device, const ModelSpec& model,
                                             EngineVersion version);

struct TrtllmBudgetOptions {
  EngineVersion version{1, 3};
  double free_gpu_memory_fraction = 0.9;      // of the rest, (0, 1]
  std::int64_t max_batch_size = 2048;         // sequences
  std::int64_t max_num_tokens = 8192;         // of a step, and of the dummy run
  std::optional<std::int64_t> max_seq_len{};  // prompt + output; absent: the model's
  std::int32_t tokens_per_block = 32;
  std::optional<TokenCount> max_tokens{};  // that the pool holds at most
  ByteCount max_gpu_total_bytes = 0;       // of the pool at most; 0: no limit
  ByteCount host_cache_size = 0;           // secondary pool on the host
  // Windows of the layers, repeated over them; empty (the engine's default): every layer keeps
  // every token. A window of max_seq_len or more keeps everything.
  std::vector<std::int64_t> max_attention_window{};
  std::int64_t max_draft_len = 0;  // tokens drafted per step
  bool disable_overlap_scheduler = false;
  std::int64_t cuda_graph_max_batch_size = 128;  // 0: no graphs
  bool skip_estimation = false;                  // no dummy run: a share of what is free now
};

// KV bytes from what a start-up log shows: the peak without the temporary pool. 0 when nothing is
// left. Exact in GiB for all measured start-ups within 0.010 GiB (FACTS.md 000).
[[nodiscard]] ByteCount trtllm_kv_from_peak(ByteCount total_bytes, ByteCount peak_bytes,
                                            double free_gpu_memory_fraction);

// Tokens of the temporary pool: prompts of at most max_seq_len - 1 tokens that together fill
// max_num_tokens, each with one generated, one overlap and the draft tokens, in whole blocks.
[[nodiscard]] TokenCount trtllm_temporary_tokens(const TrtllmBudgetOptions& options,
                                                 std::int64_t max_seq_len);

// Windows: the engine keeps one pool per window size and splits the memory in proportion to the
// need of a max_seq_len request. One KvLayout has one pool, so all windows draw from it: the same
// number of longest requests fits, but short ones are counted too well, which in the engine fill
// the window's pool first. A max_seq_len that does not fit is lowered to the pool, with a note.
// Recurrent states, max_batch_size of them, are charged to kv_pool beside kv_pool_bytes.
[[nodiscard]] MemoryBudget trtllm_budget(const BudgetInputs& inputs,
                                         const TrtllmBudgetOptions& options);

[[nodiscard]] std::vector<std::string> trtllm_budget_warnings(const BudgetInputs& inputs,
                                                              const TrtllmBudgetOptions& options);

}  // namespace headroom
