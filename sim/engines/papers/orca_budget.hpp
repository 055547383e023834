#pragma once
// The three emulations of Orca that the PagedAttention paper compares with (ENGINES.md 1.8): slots
// of contiguous KV, one per token, and a request that reserves them when it is first scheduled.
// Table 1 of the paper gives KV memory per model and device; the share that is neither weights nor
// KV follows from its three rows.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/budget/budget.hpp"

namespace headroom {

enum class OrcaReservation : std::uint8_t {
  max,    // max_model_len slots
  pow2,   // the prompt and the next power of two of the true output
  oracle  // exactly prompt + output
};
// "max", "pow2", "oracle"; ConfigError.
[[nodiscard]] OrcaReservation parse_orca_reservation(std::string_view name);
[[nodiscard]] std::string_view name_of(OrcaReservation reservation);

// Slots that a request reserves; never more than max_model_len. Lengths at least 1.
[[nodiscard]] TokenCount orca_reserved_slots(OrcaReservation reservation, TokenCount prompt,
                                             TokenCount output, TokenCount max_model_len);

[[nodiscard]] constexpr TokenCount orca_slots(ByteCount kv_bytes, ByteCount bytes_per_token) {
  return kv_bytes / bytes_per_token;
}

// Neither weights nor KV, as share of the devices: Table 1 leaves 10 % of 40 GiB (OPT-13B: 23.9 GiB
// of weights, 12 of KV), 10 % of 160 (66B: 123 and 21) and 8 % of 640 (175B: 322 and 264), which
// is vLLM's own gpu_memory_utilization of 0.90.
inline constexpr double kOrcaOtherShare = 0.10;

struct OrcaDefaults {
  std::int64_t max_model_len = 2048;  // of OPT, used for all models of the paper
};
[[nodiscard]] OrcaDefaults orca_paper_defaults(const ModelSpec& model);

struct OrcaBudgetOptions {
  std::int64_t max_model_len = 2048;
  OrcaReservation reservation = OrcaReservation::max;
  std::optional<ByteCount> kv_bytes{};   // of all devices; replaces the rule (a row of Table 1)
  std::optional<TokenCount> n_slots{};   // replaces it as well (Orca's own parameter)
  double other_share = kOrcaOtherShare;  // of total memory, [0, 1)
};

// max_concurrency counts reservations of the longest request, whatever the emulation.
[[nodiscard]] MemoryBudget orca_paper_budget(const BudgetInputs& inputs,
                                             const OrcaBudgetOptions& options);

[[nodiscard]] std::vector<std::string> orca_paper_budget_warnings(const BudgetInputs& inputs,
                                                                  const OrcaBudgetOptions& options);

}  // namespace headroom
