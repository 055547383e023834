#pragma once
// What fits without traffic: weights, KV pool and how many requests of a length the pool holds
// together, for several systems side by side. Everything is per rank and per replica; bytes,
// tokens.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/budget/budget.hpp"
#include "hardware/catalog.hpp"
#include "sim/memory/audit_fixes.hpp"
#include "sim/memory/capacity_pool.hpp"
#include "sim/resolve/start_verdict.hpp"
#include "sim/scenario/scenario.hpp"

namespace headroom {

struct CapacityQuery {
  std::vector<Scenario> systems;
  std::vector<std::int64_t> contexts;  // tokens of a request, prompt and output; each >= 1
  // Of the whole model, before it is divided over ranks: replaces the geometry's value.
  std::optional<double> kv_bytes_per_token;
  // The KV pool as a share, above 0 and up to 1, of what the weights leave of the device. Replaces
  // the engine's rule with its limits of length and of requests.
  std::optional<double> usable_fraction;
};

// What bounds the requests of one length that are served together.
enum class ContextLimit : std::uint8_t {
  blocks,        // the KV pool
  max_num_seqs,  // the engine's own limit of requests
  does_not_fit,  // not one, or the engine does not start
  max_model_len  // longer than the engine accepts
};
[[nodiscard]] std::string_view name_of(ContextLimit limit);

struct ContextCapacity {
  TokenCount tokens = 0;
  // Of one request in decode, windows respected, not rounded to blocks: on the rank that keeps
  // most, as the engine keeps it; and by the geometry of all ranks together, nothing held twice.
  ByteCount kv_bytes = 0;
  ByteCount model_kv_bytes = 0;
  std::int64_t requests = 0;    // served together
  std::int64_t pool_holds = 0;  // the pool alone, whatever the engine's limits
  ContextLimit limit = ContextLimit::blocks;
};

inline constexpr std::int64_t kMostRanks = 64;

struct WeightsVerdict {
  bool fit = false;                // all of them on the device
  ByteCount checkpoint_bytes = 0;  // of the whole model
  ByteCount wanted_bytes = 0;      // of the rank that loads most, as its engine loads them
  ByteCount host_bytes = 0;        // of those, what an engine that starts keeps off the device
  ByteCount available_bytes = 0;   // what other processes and the host leave of the device
  // How this engine uses several devices: whole layers on each (pipeline parallel sizes), or a
  // part of every layer (tensor parallel sizes).
  bool by_layers = false;
  std::int64_t most_ranks = kMostRanks;  // to try: 1 if the machine has one device
  // Smallest sizes that divide the model: one with which the weights fit, and one with which the
  // engine starts. The second is searched only if the engine does not start.
  std::optional<std::int64_t> ranks_that_fit;
  std::optional<std::int64_t> ranks_that_start;
  // Where no size starts: the largest one that divides the model, and why it does not.
  std::int64_t last_ranks = 0;
  std::string last_failure;
};

// Over a measured overhead of the environment: its low end gives the high figure.
struct CapacityRange {
  std::int64_t low = 0;
  std::int64_t typical = 0;
  std::int64_t high = 0;

  [[nodiscard]] bool is_one_value() const { return low == high; }
};

// A start of the engine: the first one after a change, or a later one.
struct StartCase {
  bool first_start = false;
  bool starts = false;  // with the typical overhead
  CapacityRange kv_pool_bytes;
  CapacityRange kv_tokens;
  std::vector<CapacityRange> requests;  // per context of the query
};

// The smallest change of one option with which a system that may not or does not start starts for
// certain, and what fits with it.
struct CapacityCure {
  Fix fix;
  std::vector<ContextCapacity> contexts;
};

struct CapacityRow {
  Resolved resolved;
  MemoryBudget budget;
  TokenCount pool_tokens = 0;      // for requests
  std::int64_t max_model_len = 0;  // longest request that the engine accepts, whatever it calls it
  bool one_batch = false;          // no pool: the engine serves one batch at a time
  TokenBytes token;
  WeightsVerdict weights;
  std::vector<ContextCapacity> contexts;
  StartVerdict start = StartVerdict::starts;
  std::optional<CapacityCure> cure;
  // The start that the row itself shows, then the other kind where the environment tells them
  // apart and the scenario does not say which.
  std::vector<StartCase> starts;
  std::optional<double> usable_fraction;  // the query's: no engine's rule stands behind the budget
  std::vector<std::string> warnings;
};

// One row per system, in their order. ConfigError: a scenario, a context or an override is wrong.
[[nodiscard]] std::vector<CapacityRow> capacity(const CapacityQuery& query, const Catalog& catalog);

// Rows that differ in nothing but the environment, by index into `rows`; groups of two and more.
[[nodiscard]] std::vector<std::vector<std::size_t>> environment_groups(
    const std::vector<CapacityRow>& rows);

}  // namespace headroom
