#pragma once
// Start-up budget of engines without a rule of their own (the profile `static`): the pool is a
// share of total memory less weights, an estimate of activations and the CUDA context. Unscored.

#include <cstdint>

#include "hardware/budget/budget.hpp"

namespace headroom {

struct PlainBudgetOptions {
  double memory_fraction = 0.90;  // of total memory, (0, 1]
  std::int64_t max_model_len = 8192;
  std::int64_t max_step_tokens = 8192;  // tokens of the largest forward pass
  std::int64_t max_num_seqs = 8;        // rows whose logits exist at once
  std::int32_t block_size = 1;          // 1: token-granular or contiguous
};

[[nodiscard]] MemoryBudget plain_budget(const BudgetInputs& inputs,
                                        const PlainBudgetOptions& options);

}  // namespace headroom
