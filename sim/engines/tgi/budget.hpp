#pragma once
// The start-up budget of Text Generation Inference: a warm-up prefills max_batch_prefill_tokens
// with a temporary cache, and what is then free above a share of TOTAL memory becomes blocks, to
// which the temporary cache's are added. Rule: ENGINES.md 1.5, 2.7, 6.4 (TGI flash_causal_lm):
//   3.x   kv = free - (1 - 0.90 * cuda_memory_fraction) * total
//   2.x   kv = 0.90 * (free - (1 - cuda_memory_fraction) * total)

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/budget/budget.hpp"
#include "hardware/engine_version.hpp"

namespace headroom {

inline constexpr EngineVersion kNewestTgi{3, 3};  // the last series that was released

enum class TgiAttention : std::uint8_t { flashinfer, flashdecoding, paged };
// "flashinfer", "flashdecoding", "paged"; ConfigError.
[[nodiscard]] TgiAttention parse_tgi_attention(std::string_view name);
// Tokens of a block: 1, 256, 16.
[[nodiscard]] std::int32_t tgi_block_size(TgiAttention attention);

struct TgiDefaults {
  TgiAttention attention = TgiAttention::flashinfer;
  std::int64_t max_input_tokens = 4095;
  std::int64_t max_batch_prefill_tokens = 4145;  // max_input_tokens + 50
  std::int64_t max_concurrent_requests = 128;
  double cuda_memory_fraction = 1.0;
};
// flashinfer needs a device of sm 80 and 3.x, before it blocks of 16 (paged). max_input_tokens is
// one less than the model's length, at most 4095; 3.x derives a longer one from the device, which
// is not modelled.
[[nodiscard]] TgiDefaults tgi_defaults(const DeviceSpec& device, const ModelSpec& model,
                                       EngineVersion version);

struct TgiBudgetOptions {
  EngineVersion version{3, 3};
  std::optional<TgiAttention> attention{};         // absent: by device and version
  std::optional<std::int64_t> max_input_tokens{};  // of a prompt
  std::optional<std::int64_t> max_total_tokens{};  // prompt + output of a request
  std::optional<std::int64_t>
      max_batch_prefill_tokens{};                      // of a prefill batch; the warm-up runs one
  std::optional<TokenCount> max_batch_total_tokens{};  // of all requests together
  double cuda_memory_fraction = 1.0;                   // of total memory, (0, 1]
  double wiggle_room = 0.90;                           // TGI_WIGGLE_ROOM, (0, 1)
  std::vector<std::int64_t> cuda_graphs{1, 2, 4, 8, 16, 32};  // batch sizes; empty: none
};

// If max_total_tokens is not given, it becomes the model's length or the pool, whichever is
// smaller. Block 0 is kept for padding. Graphs are captured in the rest; without room the engine
// runs without them.
[[nodiscard]] MemoryBudget tgi_budget(const BudgetInputs& inputs, const TgiBudgetOptions& options);

[[nodiscard]] std::vector<std::string> tgi_budget_warnings(const BudgetInputs& inputs,
                                                           const TgiBudgetOptions& options);

}  // namespace headroom
