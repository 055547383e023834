#include "sim/setup/startup_budget.hpp"

#include <fmt/format.h>

#include "hardware/budget/plain.hpp"
#include "hardware/budget/vllm.hpp"
#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

MemoryBudget vllm_rule(Resolved& r) {
  const EngineSection& e = r.scenario.engine;
  VllmBudgetOptions options;
  options.version = r.version;
  options.tensor_parallel_size = e.tensor_parallel_size;
  options.weights = r.weights;
  options.kv = r.kv;
  options.gpu_memory_utilization = e.gpu_memory_utilization;
  options.kv_cache_memory_bytes = e.kv_cache_memory_bytes;
  options.num_gpu_blocks_override = e.num_gpu_blocks_override;
  options.max_model_len = r.max_model_len;
  options.max_num_seqs = r.max_num_seqs;
  options.max_num_batched_tokens = r.max_num_batched_tokens;
  options.block_size = r.block_size;
  for (std::string& warning : vllm_budget_warnings(r.model, r.device, options)) {
    r.warnings.push_back(std::move(warning));
  }
  return vllm_budget(r.model, r.device, options);
}

bool is_about_the_pool(StartupStage stage) {
  return stage == StartupStage::blocks || stage == StartupStage::max_length_request;
}

// The pool of an engine with the plain rule in the size the user set. What it takes more or less
// than the rule's own pool comes from the margin; the sum of the terms stays the capacity.
void resize_pool(const Resolved& r, MemoryBudget& budget) {
  const EngineSection& e = r.scenario.engine;
  if (!e.num_gpu_blocks_override && !e.kv_cache_memory_bytes) return;
  if (budget.failure && !is_about_the_pool(budget.failure->stage)) return;
  const ByteCount token_bytes = budget.layout.bytes_per_token();
  const ByteCount block_bytes = budget.layout.bytes_per_block();
  const ByteCount wanted = e.kv_cache_memory_bytes
                               ? *e.kv_cache_memory_bytes
                               : *e.num_gpu_blocks_override * r.block_size * token_bytes;
  constexpr auto kPool = static_cast<std::size_t>(MemoryPurpose::kv_pool);
  constexpr auto kMargin = static_cast<std::size_t>(MemoryPurpose::margin);
  const ByteCount free = budget.terms.bytes[kPool] + budget.terms.bytes[kMargin];
  budget.failure.reset();
  if (wanted > free) {
    budget.failure = StartupFailure{
        StartupStage::kv_allocation,
        fmt::format("a KV pool of {} bytes was asked for, {} are free", wanted, free), wanted, free,
        0};
    return;
  }
  budget.total_blocks = wanted / block_bytes;
  budget.usable_blocks = budget.total_blocks;
  budget.kv_pool_bytes = budget.total_blocks * block_bytes;
  budget.kv_available_bytes = wanted;
  budget.kv_tokens = budget.total_blocks * budget.layout.block_tokens;
  budget.terms.bytes[kPool] = budget.kv_pool_bytes;
  budget.terms.bytes[kMargin] = free - budget.kv_pool_bytes;
  budget.max_concurrency =
      static_cast<double>(budget.kv_tokens) / static_cast<double>(r.max_model_len);
  if (budget.kv_tokens < r.max_model_len) {
    budget.failure = StartupFailure{
        StartupStage::max_length_request,
        fmt::format("one request of max_model_len {} does not fit a pool of {} tokens",
                    r.max_model_len, budget.kv_tokens),
        r.max_model_len * token_bytes, budget.kv_pool_bytes, budget.kv_tokens};
  }
}

MemoryBudget plain_rule(const Resolved& r) {
  const EngineSection& e = r.scenario.engine;
  PlainBudgetOptions options;
  options.tensor_parallel_size = e.tensor_parallel_size;
  options.weights = r.weights;
  options.kv = r.kv;
  options.memory_fraction = e.gpu_memory_utilization;
  options.max_model_len = r.max_model_len;
  options.max_step_tokens = r.max_num_batched_tokens;
  options.max_num_seqs = r.max_num_seqs;
  options.block_size = r.allocator == AllocatorKind::paged ? r.block_size : 1;
  MemoryBudget budget = plain_budget(r.model, r.device, options);
  resize_pool(r, budget);
  return budget;
}

}  // namespace

MemoryBudget startup_budget(Resolved& resolved) {
  MemoryBudget budget =
      resolved.profile->budget == BudgetRule::vllm ? vllm_rule(resolved) : plain_rule(resolved);
  HEADROOM_CHECK(
      budget.terms.sum() == budget.capacity_bytes,
      fmt::format("budget terms sum to {} of {} bytes", budget.terms.sum(), budget.capacity_bytes));
  return budget;
}

TokenCount pool_tokens(const Resolved& resolved, const MemoryBudget& budget) {
  // A contiguous pool has no null block; the bytes are the same.
  if (resolved.allocator == AllocatorKind::contiguous) return budget.kv_tokens;
  return budget.usable_blocks * budget.layout.block_tokens;
}

}  // namespace headroom
