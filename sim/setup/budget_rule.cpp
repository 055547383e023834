#include "sim/setup/budget_rule.hpp"

namespace headroom {
namespace {

MemoryBudget call(const BudgetInputs& in, const VllmBudgetOptions& o) { return vllm_budget(in, o); }
MemoryBudget call(const BudgetInputs& in, const TrtllmBudgetOptions& o) {
  return trtllm_budget(in, o);
}
MemoryBudget call(const BudgetInputs& in, const SglangBudgetOptions& o) {
  return sglang_budget(in, o);
}
MemoryBudget call(const BudgetInputs& in, const TgiBudgetOptions& o) { return tgi_budget(in, o); }
MemoryBudget call(const BudgetInputs& in, const HfBudgetOptions& o) {
  return hf_generate_budget(in, o.engine, o.batch);
}
MemoryBudget call(const BudgetInputs& in, const FtBudgetOptions& o) {
  return fastertransformer_budget(in, o);
}
MemoryBudget call(const BudgetInputs& in, const LlamacppBudgetOptions& o) {
  return llamacpp_budget(in, o);
}
MemoryBudget call(const BudgetInputs& in, const OllamaOptions& o) { return ollama_budget(in, o); }
MemoryBudget call(const BudgetInputs& in, const OrcaBudgetOptions& o) {
  return orca_paper_budget(in, o);
}
MemoryBudget call(const BudgetInputs& in, const PlainBudgetOptions& o) {
  return plain_budget(in, o);
}

std::vector<std::string> warnings(const BudgetInputs& in, const VllmBudgetOptions& o) {
  return vllm_budget_warnings(in, o);
}
std::vector<std::string> warnings(const BudgetInputs& in, const TrtllmBudgetOptions& o) {
  return trtllm_budget_warnings(in, o);
}
std::vector<std::string> warnings(const BudgetInputs& in, const SglangBudgetOptions& o) {
  return sglang_budget_warnings(in, o);
}
std::vector<std::string> warnings(const BudgetInputs& in, const TgiBudgetOptions& o) {
  return tgi_budget_warnings(in, o);
}
std::vector<std::string> warnings(const BudgetInputs& in, const HfBudgetOptions& o) {
  return hf_generate_budget_warnings(in, o.engine);
}
std::vector<std::string> warnings(const BudgetInputs& in, const FtBudgetOptions& o) {
  return fastertransformer_budget_warnings(in, o);
}
std::vector<std::string> warnings(const BudgetInputs& in, const LlamacppBudgetOptions& o) {
  return llamacpp_budget_warnings(in, o);
}
std::vector<std::string> warnings(const BudgetInputs& in, const OllamaOptions& o) {
  return ollama_budget_warnings(in, o);
}
std::vector<std::string> warnings(const BudgetInputs& in, const OrcaBudgetOptions& o) {
  return orca_paper_budget_warnings(in, o);
}
std::vector<std::string> warnings(const BudgetInputs& in, const PlainBudgetOptions& o) {
  static_cast<void>(in);
  static_cast<void>(o);
  return {"the start-up budget of this engine is an estimate that no measurement scores"};
}

}  // namespace

MemoryBudget budget_by_rule(const BudgetInputs& inputs, const BudgetRuleOptions& options) {
  return std::visit([&](const auto& o) { return call(inputs, o); }, options);
}

std::vector<std::string> budget_warnings(const BudgetInputs& inputs,
                                         const BudgetRuleOptions& options) {
  return std::visit([&](const auto& o) { return warnings(inputs, o); }, options);
}

}  // namespace headroom
