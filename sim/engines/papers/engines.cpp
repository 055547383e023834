#include "sim/engines/papers/engines.hpp"

#include <algorithm>

#include "scheduler/batching/orca.hpp"
#include "scheduler/batching/sarathi.hpp"
#include "sim/engines/engine_resolver.hpp"
#include "sim/engines/papers/orca_budget.hpp"
#include "sim/engines/papers/plain_budget.hpp"

namespace headroom {
namespace {

// What the plain budget assumes for the largest forward pass of engines without a token budget.
constexpr std::int64_t kPlainStepTokens = 8192;

// `seats`: of a batch.
void resolve_sizes(EngineResolver& r, std::int64_t seats) {
  EngineSection& e = r.options;
  r.fill_length("/engine/max_model_len", e.max_model_len, false);
  r.fill("/engine/max_num_seqs", e.max_num_seqs, seats, "profile");
  r.fill("/engine/block_size", e.block_size, 16, "profile");
  r.fill("/engine/async_scheduling", e.async_scheduling, false, "synchronous engine");
  r.set_sizes(*e.max_model_len, *e.max_num_seqs, std::max(kPlainStepTokens, *e.max_model_len),
              *e.block_size);
}

void resolve_orca(EngineResolver& r) { resolve_sizes(r, 256); }

void resolve_plain(EngineResolver& r, std::int64_t seats) {
  EngineSection& e = r.options;
  resolve_sizes(r, seats);
  r.fill("/engine/gpu_memory_utilization", e.gpu_memory_utilization, 0.9, "profile");
  if (r.system.scheduler != &sarathi_policy()) return;
  // The strict one of the paper's two budgets (ENGINES.md 3.8); the other is 2048.
  r.fill("/engine/max_num_batched_tokens", e.max_num_batched_tokens, 512, "profile");
  if (*e.max_num_batched_tokens < *e.max_num_seqs) {
    r.given.refuse_value("/engine/max_num_batched_tokens",
                         fmt::to_string(*e.max_num_batched_tokens),
                         fmt::format("expected at least max_num_seqs = {}", *e.max_num_seqs));
  }
  r.system.max_num_batched_tokens = static_cast<std::int32_t>(*e.max_num_batched_tokens);
}

void resolve_static(EngineResolver& r) { resolve_plain(r, 32); }
void resolve_sarathi(EngineResolver& r) { resolve_plain(r, 128); }

OrcaBudgetOptions orca_budget_options(const EngineSection& e) {
  OrcaBudgetOptions options;
  options.max_model_len = *e.max_model_len;
  // The paper's two oracles: results say what no real engine knows.
  const std::string& reservation = e.own.get<OrcaScheduling>().kv_reservation;
  const bool oracle = reservation == "pow2" || reservation == "oracle";
  if (oracle) options.reservation = parse_orca_reservation(reservation);
  return options;
}

MemoryBudget plain(const BudgetInputs& inputs, const EngineSection& e, const EngineSystem& s) {
  PlainBudgetOptions options;
  options.memory_fraction = *e.gpu_memory_utilization;
  options.max_model_len = s.max_model_len;
  options.max_step_tokens = s.max_num_batched_tokens;
  options.max_num_seqs = s.max_num_seqs;
  options.block_size = s.allocator->in_blocks ? s.block_size : 1;
  return plain_budget(inputs, options);
}

std::vector<std::string> plain_warnings(const BudgetInputs&, const EngineSection&,
                                        const EngineSystem&) {
  return {
      "the start-up budget of this engine is an estimate and was not compared with measurements"};
}

constexpr EngineTraits kPaperTraits{.own_calibration = false, .pool_is_sized_by_hand = true};

std::span<const FixCandidate> orca_fixes() {
  using namespace fixes;
  static constexpr FixCandidate kFixes[] = {kFewerPoolBytes, kMorePoolBytes,   kFewerPoolBlocks,
                                            kMorePoolBlocks, kShorterModelLen, kLongerModelLen,
                                            kFewerSeqs,      kMoreSeqs,        kMoreDevices};
  return kFixes;
}

std::span<const FixCandidate> plain_fixes() {
  using namespace fixes;
  static constexpr FixCandidate kFixes[] = {kMoreOfTotal,     kLessOfTotal,     kFewerPoolBytes,
                                            kMorePoolBytes,   kFewerPoolBlocks, kMorePoolBlocks,
                                            kShorterModelLen, kLongerModelLen,  kFewerSeqs,
                                            kMoreSeqs,        kMoreDevices};
  return kFixes;
}

}  // namespace

const Engine& sarathi_engine() {
  static const Engine kEngine{
      .name = "sarathi",
      .version = "osdi24",
      .summary = "Sarathi-Serve: decodes first, then prompt chunks in the rest of the budget",
      .budget_rule = "plain",
      .scheduler = "sarathi",
      .cost_family = "vllm",
      .traits = kPaperTraits,
      .takes = {"kv_cache_dtype", "gpu_memory_utilization", "max_model_len", "max_num_seqs",
                "max_num_batched_tokens", "block_size", "num_gpu_blocks_override",
                "kv_cache_memory_bytes", "memory_growth_mib_per_hour"},
      .resolve = resolve_sarathi,
      .budget = plain,
      .budget_warnings = plain_warnings,
      .fixes = plain_fixes};
  return kEngine;
}

const Engine& orca_engine() {
  static const Engine kEngine{
      .name = "orca",
      .version = "osdi22",
      .summary = "Orca: iteration-level batches, contiguous reservation of max_tokens",
      .budget_rule = "orca_paper",
      .scheduler = "orca",
      .allocator = "contiguous",
      .cost_family = "vllm",
      .traits = kPaperTraits,
      .takes = {"kv_cache_dtype", "max_model_len", "max_num_seqs", "block_size",
                "num_gpu_blocks_override", "kv_cache_memory_bytes", "memory_growth_mib_per_hour"},
      .resolve = resolve_orca,
      .budget =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem&) {
            return orca_paper_budget(inputs, orca_budget_options(e));
          },
      .budget_warnings =
          [](const BudgetInputs& inputs, const EngineSection& e, const EngineSystem&) {
            return orca_paper_budget_warnings(inputs, orca_budget_options(e));
          },
      .fixes = orca_fixes};
  return kEngine;
}

const Engine& static_engine() {
  static const Engine kEngine{
      .name = "static",
      .version = "1",
      .summary = "static batches: padded, running until the longest output ends",
      .budget_rule = "plain",
      .scheduler = "static",
      .allocator = "contiguous",
      .cost_family = "vllm",
      .traits = kPaperTraits,
      .takes = {"kv_cache_dtype", "gpu_memory_utilization", "max_model_len", "max_num_seqs",
                "block_size", "num_gpu_blocks_override", "kv_cache_memory_bytes",
                "memory_growth_mib_per_hour"},
      .resolve = resolve_static,
      .budget = plain,
      .budget_warnings = plain_warnings,
      .fixes = plain_fixes};
  return kEngine;
}

}  // namespace headroom
