#pragma once
// The options of whichever budget rule an engine has, and the call of it.

#include <string>
#include <variant>
#include <vector>

#include "hardware/budget/budget.hpp"
#include "hardware/budget/fastertransformer.hpp"
#include "hardware/budget/hf_generate.hpp"
#include "hardware/budget/llamacpp.hpp"
#include "hardware/budget/ollama.hpp"
#include "hardware/budget/orca_paper.hpp"
#include "hardware/budget/plain.hpp"
#include "hardware/budget/sglang.hpp"
#include "hardware/budget/tgi.hpp"
#include "hardware/budget/trtllm.hpp"
#include "hardware/budget/vllm.hpp"

namespace headroom {

struct HfBudgetOptions {
  HfGenerateOptions engine;
  HfBatch batch;
};

using BudgetRuleOptions =
    std::variant<VllmBudgetOptions, TrtllmBudgetOptions, SglangBudgetOptions, TgiBudgetOptions,
                 HfBudgetOptions, FtBudgetOptions, LlamacppBudgetOptions, OllamaOptions,
                 OrcaBudgetOptions, PlainBudgetOptions>;

[[nodiscard]] MemoryBudget budget_by_rule(const BudgetInputs& inputs,
                                          const BudgetRuleOptions& options);
[[nodiscard]] std::vector<std::string> budget_warnings(const BudgetInputs& inputs,
                                                       const BudgetRuleOptions& options);

}  // namespace headroom
