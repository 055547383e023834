#include "sim/memory/capacity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <variant>

#include "hardware/llm/drafter_model.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/resolve/startup_budget.hpp"
#include "sim/scenario/option_value.hpp"

namespace headroom {
namespace {

// Where the search for the largest batch ends.
constexpr std::int64_t kMostBatch = std::int64_t{1} << 20;

void check_query(const CapacityQuery& query) {
  for (const std::int64_t tokens : query.contexts) {
    if (tokens < 1 || tokens > kMostContextTokens) {
      throw ConfigError(
          fmt::format("--context {}: expected 1 to {} tokens", tokens, kMostContextTokens));
    }
  }
  if (query.usable_fraction && !(*query.usable_fraction > 0 && *query.usable_fraction <= 1)) {
    throw ConfigError(fmt::format("--usable-fraction {}: expected a share above 0 and up to 1",
                                  *query.usable_fraction));
  }
  if (query.kv_bytes_per_token &&
      !(*query.kv_bytes_per_token > 0 && *query.kv_bytes_per_token <= 1e12)) {
    throw ConfigError(fmt::format("--kv-bytes-per-token {}: expected bytes above 0 and up to 1e12",
                                  *query.kv_bytes_per_token));
  }
}

// Engines without a pool: the shape of the one batch that they serve decides.
bool serves_one_batch(const Resolved& r) { return r.engine->traits.forms_batches_blindly; }

// Sequences of `tokens` in total, where the output keeps its configured length if possible.
void set_batch(Resolved& r, std::int64_t sequences, TokenCount tokens) {
  EngineSection& e = r.scenario.engine;
  const TokenCount longest_output = std::max<TokenCount>(tokens - 1, 1);
  e.max_new_tokens = std::min(e.max_new_tokens, longest_output);
  e.max_input_tokens = std::max<TokenCount>(tokens - e.max_new_tokens, 1);
  e.max_batch_size = sequences;
}

// By the engine's own rule, asked with batches of that shape.
std::int64_t largest_batch(const Resolved& r, TokenCount tokens) {
  const auto fits = [&](std::int64_t sequences) {
    Resolved shaped = r;
    set_batch(shaped, sequences, tokens);
    return !budgeted(std::move(shaped)).budget.failure.has_value();
  };
  std::int64_t low = 0;  // fits
  std::int64_t high = 1;
  while (high < kMostBatch && fits(high)) low = std::exchange(high, 2 * high);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

// The engine's limits of one row.
struct Limits {
  std::int64_t max_model_len = 0;  // 0: none
  std::int64_t max_num_seqs = 0;   // 0: none
};

// What the budget lowered or found counts, e.g. TensorRT-LLM's max_seq_len.
std::int64_t length_limit(const Resolved& r, const MemoryBudget& budget) {
  return budget.max_model_len > 0 ? budget.max_model_len : r.max_model_len;
}

Limits limits_of(const Resolved& r, const MemoryBudget& budget, const CapacityQuery& query) {
  if (query.usable_fraction) return {};
  if (serves_one_batch(r)) {  // the shape is the result
    const bool given = r.scenario.is_given("/engine/max_batch_size");
    return {0, given ? r.scenario.engine.max_batch_size.value_or(0) : 0};
  }
  return {length_limit(r, budget), r.max_num_seqs};
}

std::int64_t held_together(const Resolved& r, const StartUp& start, const TokenBytes& token,
                           const CapacityQuery& query, const ContextCapacity& context) {
  if (query.usable_fraction) {
    if (start.budget.failure || context.kv_bytes == 0) return 0;
    return start.budget.kv_pool_bytes / context.kv_bytes;
  }
  if (!token.override_model && serves_one_batch(r)) return largest_batch(r, context.tokens);
  return concurrent_sequences(start.budget, context.tokens);
}

// Of layers that see everything, where those with a window have a cache of their own (llama.cpp).
ByteCount bytes_without_windows(const Resolved& r) {
  ByteCount bytes = 0;
  for (const KvClass& c : kv_classes(r.model, kv_format(r), r.sharding)) {
    if (c.window_tokens == 0) bytes += c.layers * c.bytes_per_token;
  }
  return bytes;
}

// An engine may store more per token than the geometry needs (FasterTransformer: every query head),
// use its own data types (llama.cpp), or store a drafter's KV too. vLLM's other layouts follow the
// geometry.
ByteCount engine_bytes(const Resolved& r, const MemoryBudget& budget, const TokenBytes& token,
                       ByteCount geometry) {
  const ByteCount kept = budget.layout.bytes_per_token;
  if (token.override_model || token.rank == 0 || kept == 0 || kept == token.rank) return geometry;
  if (r.engine->traits.groups_layers && !r.drafter) return geometry;
  if (kept == bytes_without_windows(r)) return geometry;
  const double ratio = static_cast<double>(kept) / static_cast<double>(token.rank);
  return static_cast<ByteCount>(static_cast<double>(geometry) * ratio + 0.5);
}

ContextCapacity context_capacity(const StartUp& start, const TokenBytes& token,
                                 const CapacityQuery& query, TokenCount tokens) {
  const Resolved& r = start.resolved;
  ContextCapacity c;
  c.tokens = tokens;
  c.kv_bytes = engine_bytes(r, start.budget, token, request_bytes(r, token, tokens));
  c.model_kv_bytes = model_request_bytes(r, token, tokens);
  c.pool_holds = held_together(r, start, token, query, c);
  c.requests = c.pool_holds;
  const Limits limits = limits_of(r, start.budget, query);
  if (c.pool_holds == 0) {
    c.limit = ContextLimit::does_not_fit;
  } else if (limits.max_model_len > 0 && tokens > limits.max_model_len) {
    c.requests = 0;
    c.limit = ContextLimit::max_model_len;
  } else if (limits.max_num_seqs > 0 && c.pool_holds > limits.max_num_seqs) {
    c.requests = limits.max_num_seqs;
    c.limit = ContextLimit::max_num_seqs;
  }
  return c;
}

// --- how many ranks it takes --------------------------------------------------------------------

// A device of another vendor that shares the host's memory is the only one of its machine.
std::int64_t most_ranks(const DeviceSpec& device) {
  const bool alone = device.memory_model == MemoryModel::unified && device.vendor != "nvidia";
  return alone ? 1 : kMostRanks;
}

bool divides(const Resolved& r, const Sharding& sharding) {
  try {
    check_sharding(r.model, sharding);
    if (r.drafter) check_sharding(*r.drafter, drafter_sharding(sharding));
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

// The smallest size, of the kind that the engine has, that `suffices`.
std::optional<std::int64_t> smallest_size(const Resolved& r, const WeightsVerdict& verdict,
                                          const auto& suffices) {
  for (std::int64_t ranks = 1; ranks <= verdict.most_ranks; ++ranks) {
    Sharding sharding = r.sharding;
    (verdict.by_layers ? sharding.pipeline : sharding.tensor) = ranks;
    if (divides(r, sharding) && suffices(sharding)) return ranks;
  }
  return std::nullopt;
}

void find_starting_size(const Resolved& untouched, const TokenBytes& token,
                        const CapacityQuery& query, WeightsVerdict& verdict) {
  verdict.ranks_that_start = smallest_size(untouched, verdict, [&](const Sharding& sharding) {
    Resolved wider = untouched;
    wider.sharding = sharding;
    wider.scenario.engine.tensor_parallel_size = sharding.tensor;
    wider.scenario.engine.pipeline_parallel_size = sharding.pipeline;
    const TokenBytes wider_token = token_bytes(wider, token.override_model);
    const MemoryBudget budget =
        start_engine(std::move(wider), wider_token, query.usable_fraction).budget;
    if (!budget.failure) return true;
    verdict.last_ranks = verdict.by_layers ? sharding.pipeline : sharding.tensor;
    verdict.last_failure = budget.failure->message;
    return false;
  });
}

// `untouched` is the system before its own start-up budget.
WeightsVerdict weights_verdict(const Resolved& untouched, const MemoryBudget& budget,
                               const TokenBytes& token, const CapacityQuery& query) {
  WeightsVerdict verdict;
  verdict.checkpoint_bytes = checkpoint_bytes(untouched.model);
  verdict.by_layers = untouched.engine->traits.devices_share_layers;
  verdict.most_ranks = most_ranks(untouched.device);
  const BudgetTerms& terms = budget.terms;
  const ByteCount loaded = terms[MemoryPurpose::weights] + budget.mapped_weight_bytes;
  // An input table alone, of which a step reads rows, belongs on the host.
  verdict.host_bytes = budget.host_reads.weight_share > 0 ? budget.host_weight_bytes : 0;
  const ByteCount on_host = verdict.host_bytes / untouched.sharding.pipeline;
  const bool known = loaded + on_host > 0;
  verdict.wanted_bytes =
      known ? loaded + on_host : rank_weight_bytes(untouched.model, untouched.sharding);
  // Mapped weights are used where the page cache holds them.
  verdict.available_bytes = budget.capacity_bytes - terms[MemoryPurpose::others] -
                            (terms[MemoryPurpose::page_cache] - budget.mapped_weight_bytes) -
                            terms[MemoryPurpose::engine_host];
  verdict.fit = verdict.host_bytes == 0 && verdict.wanted_bytes <= verdict.available_bytes;
  if (budget.failure && budget.failure->stage == StartupStage::weights) {
    // The rule may load more than the checkpoint holds; the host may refuse what the device has.
    verdict.fit = false;
    verdict.wanted_bytes = std::max(verdict.wanted_bytes, budget.failure->wanted_bytes);
    verdict.available_bytes = std::min(verdict.available_bytes, budget.failure->free_bytes);
  }
  const Sharding& own = untouched.sharding;
  verdict.ranks_that_fit = smallest_size(untouched, verdict, [&](const Sharding& sharding) {
    if (!verdict.fit && sharding.devices() <= own.devices()) return false;
    return rank_weight_bytes(untouched.model, sharding) <= verdict.available_bytes;
  });
  if (budget.failure) find_starting_size(untouched, token, query, verdict);
  return verdict;
}

// --- first and later starts ---------------------------------------------------------------------

enum class OverheadEnd : std::uint8_t { low, typical, high };

void set_overhead(Resolved& r, bool first_start, OverheadEnd end) {
  r.scenario.environment.first_start = first_start;
  std::optional<ByteRange>& range =
      first_start ? r.environment.first_start_overhead : r.environment.steady_overhead;
  if (!range) return;
  const ByteCount bytes = end == OverheadEnd::low    ? range->low
                          : end == OverheadEnd::high ? range->high
                                                     : range->typical;
  range = ByteRange{bytes, bytes, bytes};
}

void widen(CapacityRange& range, std::int64_t value) {
  range.low = std::min(range.low, value);
  range.high = std::max(range.high, value);
}

StartCase start_case(const Resolved& untouched, bool first_start, const TokenBytes& token,
                     const CapacityQuery& query) {
  StartCase result;
  result.first_start = first_start;
  for (const OverheadEnd end : {OverheadEnd::typical, OverheadEnd::low, OverheadEnd::high}) {
    Resolved r = untouched;
    set_overhead(r, first_start, end);
    const StartUp start = start_engine(std::move(r), token, query.usable_fraction);
    const ByteCount pool = start.budget.failure ? 0 : start.budget.kv_pool_bytes;
    if (end == OverheadEnd::typical) {
      result.starts = !start.budget.failure;
      result.kv_pool_bytes = {pool, pool, pool};
      result.kv_tokens = {start.pool_tokens, start.pool_tokens, start.pool_tokens};
    }
    widen(result.kv_pool_bytes, pool);
    widen(result.kv_tokens, start.pool_tokens);
    for (std::size_t i = 0; i < query.contexts.size(); ++i) {
      const std::int64_t n = context_capacity(start, token, query, query.contexts[i]).requests;
      if (end == OverheadEnd::typical) result.requests.push_back({n, n, n});
      widen(result.requests[i], n);
    }
  }
  return result;
}

std::vector<StartCase> start_cases(const Resolved& untouched, const TokenBytes& token,
                                   const CapacityQuery& query) {
  const bool own = untouched.scenario.environment.first_start;
  std::vector<StartCase> cases{start_case(untouched, own, token, query)};
  const Environment& e = untouched.environment;
  const bool differ = e.first_start_overhead || e.steady_overhead || e.compile_bytes > 0;
  const bool shared = untouched.device.memory_model == MemoryModel::unified;
  const bool asked = untouched.scenario.is_given("/environment/first_start");
  if (differ && shared && !asked && !query.usable_fraction) {
    cases.push_back(start_case(untouched, !own, token, query));
  }
  return cases;
}

// --- a row --------------------------------------------------------------------------------------

void add_warnings(CapacityRow& row) {
  row.warnings = row.resolved.warnings;
  const Resolved& r = row.resolved;
  if (row.usable_fraction) {
    row.warnings.push_back(
        fmt::format("KV pool = {} x (device memory - weights), from --usable-fraction, not from an "
                    "engine's rule; activations, context and the engine's limits are ignored",
                    *row.usable_fraction));
    const auto longest = std::ranges::max_element(row.contexts, {}, &ContextCapacity::tokens);
    if (longest != row.contexts.end() && r.model.max_position > 0 &&
        longest->tokens > r.model.max_position) {
      row.warnings.push_back(
          fmt::format("{} was trained for {} tokens, fewer than the requested {}", r.model.id,
                      r.model.max_position, longest->tokens));
    }
  }
  if (row.one_batch) {
    row.warnings.emplace_back(
        "this engine has no pool: requests together are the largest batch with that length of "
        "prompt and output, all prompts padded to the longest");
  }
  if (row.token.override_model) {
    row.warnings.push_back(
        fmt::format("KV bytes per token are {} as given; by geometry {} would need {} in {}",
                    *row.token.override_model, r.model.id, row.token.model, name_of(r.kv)));
    if (row.budget.layout.recurrent() && !row.budget.layout.uniform()) {
      row.warnings.emplace_back(
          "the given KV bytes scale blocks of attention and of recurrent states alike");
    }
  }
  if (r.sharding.data > 1) {
    row.warnings.push_back(
        fmt::format("requests and tokens are per replica; there are {}", r.sharding.data));
  }
}

// Only the engine's own rule can be cured by its options.
std::optional<CapacityCure> cure_of(const Scenario& scenario, const CapacityRow& row,
                                    const CapacityQuery& query, const Catalog& catalog) {
  if (row.start == StartVerdict::starts || query.usable_fraction || query.kv_bytes_per_token) {
    return std::nullopt;
  }
  const std::vector<Fix> fixes = find_fixes(scenario, {}, catalog);
  if (fixes.empty()) return std::nullopt;
  CapacityCure cure{fixes.front(), {}};
  Scenario changed = scenario;
  set_option(changed, cure.fix.pointer, cure.fix.value, "capacity");
  const Resolved untouched = resolve_system(changed, catalog);
  const TokenBytes token = token_bytes(untouched, {});
  const StartUp start = start_engine(untouched, token, {});
  for (const TokenCount tokens : query.contexts) {
    cure.contexts.push_back(context_capacity(start, token, query, tokens));
  }
  return cure;
}

CapacityRow capacity_row(const Scenario& scenario, const CapacityQuery& query,
                         const Catalog& catalog) {
  const Resolved untouched = resolve_system(scenario, catalog);
  CapacityRow row;
  row.usable_fraction = query.usable_fraction;
  row.token = token_bytes(untouched, query.kv_bytes_per_token);
  StartUp start = start_engine(untouched, row.token, query.usable_fraction);
  row.pool_tokens = start.pool_tokens;
  for (const TokenCount tokens : query.contexts) {
    row.contexts.push_back(context_capacity(start, row.token, query, tokens));
  }
  row.one_batch = !query.usable_fraction && serves_one_batch(untouched);
  row.max_model_len =
      query.usable_fraction ? untouched.max_model_len : length_limit(start.resolved, start.budget);
  row.weights = weights_verdict(untouched, start.budget, row.token, query);
  row.starts = start_cases(untouched, row.token, query);
  row.start = query.usable_fraction && !start.budget.failure
                  ? StartVerdict::starts
                  : start_verdict(start.resolved, start.budget);
  row.cure = cure_of(scenario, row, query, catalog);
  row.budget = std::move(start.budget);
  row.resolved = std::move(start.resolved);
  add_warnings(row);
  return row;
}

}  // namespace

std::string_view name_of(ContextLimit limit) {
  static constexpr std::array<std::string_view, 4> kNames{"blocks", "max_num_seqs", "does_not_fit",
                                                          "max_model_len"};
  return kNames[static_cast<std::size_t>(limit)];
}

std::vector<CapacityRow> capacity(const CapacityQuery& query, const Catalog& catalog) {
  check_query(query);
  std::vector<CapacityRow> rows;
  for (const Scenario& scenario : query.systems) {
    rows.push_back(capacity_row(scenario, query, catalog));
  }
  return rows;
}

std::vector<std::vector<std::size_t>> environment_groups(const std::vector<CapacityRow>& rows) {
  const auto key = [&](std::size_t i) {
    const Resolved& r = rows[i].resolved;
    return std::tuple(r.model.id, r.device.id, r.engine->name,
                      r.scenario.engine.version.value_or(""));
  };
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto same = std::ranges::find_if(groups, [&](const std::vector<std::size_t>& group) {
      return key(group.front()) == key(i);
    });
    if (same == groups.end()) {
      groups.push_back({i});
    } else {
      same->push_back(i);
    }
  }
  std::erase_if(groups, [](const std::vector<std::size_t>& group) { return group.size() < 2; });
  return groups;
}

}  // namespace headroom
