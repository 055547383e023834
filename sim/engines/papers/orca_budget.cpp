#include "sim/engines/papers/orca_budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "hardware/budget/activations.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr std::array<std::pair<std::string_view, OrcaReservation>, 3> kReservations{{
    {"max", OrcaReservation::max},
    {"pow2", OrcaReservation::pow2},
    {"oracle", OrcaReservation::oracle},
}};

void check_options(const OrcaBudgetOptions& o) {
  if (o.max_model_len < 1) throw ConfigError("max_model_len: at least 1");
  if (!(o.other_share >= 0 && o.other_share < 1)) {
    throw ConfigError(fmt::format("other_share {}: 0 or more, below 1", o.other_share));
  }
  if ((o.kv_bytes && *o.kv_bytes < 1) || (o.n_slots && *o.n_slots < 1)) {
    throw ConfigError("kv_bytes and n_slots: at least 1");
  }
}

ByteCount pool_bytes(const BudgetInputs& inputs, const OrcaBudgetOptions& options,
                     const BudgetBuilder& builder, const KvLayout& layout) {
  if (options.n_slots) return *options.n_slots * layout.bytes_per_token;
  if (options.kv_bytes) {
    return *options.kv_bytes / (inputs.sharding.tensor * inputs.sharding.pipeline);
  }
  return builder.free_bytes();
}

MemoryBudget stage_budget(const BudgetInputs& inputs, const OrcaBudgetOptions& options,
                          std::int64_t stage) {
  MemoryBudget budget;
  budget.layout = flat_kv_layout(inputs.model, {inputs.kv, false}, inputs.sharding, stage, 1);
  check_keeps_kv(budget.layout, inputs.model, "the PagedAttention paper's Orca");
  const ByteCount total = capacity_of(inputs);
  BudgetBuilder builder(total);
  charge_machine(builder, inputs.machine);
  builder.charge(MemoryPurpose::weights,
                 rank_parts(inputs.model, inputs.sharding, stage).bytes_total(),
                 StartupStage::weights);
  if (!options.kv_bytes && !options.n_slots && options.other_share > 0) {
    builder.charge(MemoryPurpose::activations, share_of(total, options.other_share),
                   StartupStage::profiling);
  }
  if (!builder.failed()) {
    place_pool(builder,
               {.available_bytes = pool_bytes(inputs, options, builder, budget.layout),
                .max_model_len = options.max_model_len},
               budget);
  }
  builder.finish(budget);
  return budget;
}

}  // namespace

OrcaReservation parse_orca_reservation(std::string_view name) {
  for (const auto& [known, reservation] : kReservations) {
    if (known == name) return reservation;
  }
  throw ConfigError(fmt::format("reservation '{}': one of max, pow2, oracle", name));
}

std::string_view name_of(OrcaReservation reservation) {
  return kReservations[static_cast<std::size_t>(reservation)].first;
}

TokenCount orca_reserved_slots(OrcaReservation reservation, TokenCount prompt, TokenCount output,
                               TokenCount max_model_len) {
  HEADROOM_CHECK(prompt >= 1 && output >= 1, fmt::format("lengths {} and {}", prompt, output));
  TokenCount slots = max_model_len;
  if (reservation == OrcaReservation::oracle) slots = prompt + output;
  if (reservation == OrcaReservation::pow2) {
    slots = prompt + static_cast<TokenCount>(std::bit_ceil(static_cast<std::uint64_t>(output)));
  }
  return std::min(slots, max_model_len);
}

OrcaDefaults orca_paper_defaults(const ModelSpec& model) {
  OrcaDefaults defaults;
  if (model.max_position > 0) {
    defaults.max_model_len = std::min<std::int64_t>(2048, model.max_position);
  }
  return defaults;
}

MemoryBudget orca_paper_budget(const BudgetInputs& inputs, const OrcaBudgetOptions& options) {
  check_options(options);
  return tightest_stage(inputs.sharding,
                        [&](std::int64_t stage) { return stage_budget(inputs, options, stage); });
}

std::vector<std::string> orca_paper_budget_warnings(const BudgetInputs& /*inputs*/,
                                                    const OrcaBudgetOptions& options) {
  std::vector<std::string> warnings;
  if (!options.kv_bytes && !options.n_slots) {
    warnings.push_back(fmt::format(
        "Orca emulation: the share {} of total memory beside weights and KV follows from the three "
        "rows of the paper's Table 1; for other systems it is an estimate",
        options.other_share));
  }
  if (options.reservation != OrcaReservation::max) {
    warnings.push_back(fmt::format("Orca ({}) knows the true output length, unlike any real engine",
                                   name_of(options.reservation)));
  }
  return warnings;
}

}  // namespace headroom
