#include "sim/engines/papers/plain_budget.hpp"

#include <catch2/catch.hpp>

#include "hardware/catalog.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::plain_budget_test {
namespace {

BudgetInputs inputs_of(const char* model) {
  const Catalog catalog = Catalog::embedded();
  BudgetInputs inputs;
  inputs.model = catalog.model(model);
  inputs.device = catalog.device("a100-40");
  inputs.kv = Dtype::fp16;
  inputs.machine = idle_machine(inputs.device);
  return inputs;
}

}  // namespace

TEST_CASE("a plain pool is the fraction less weights, activations and context") {
  PlainBudgetOptions options;
  options.max_model_len = 2048;
  const MemoryBudget budget = plain_budget(inputs_of("opt-13b"), options);
  REQUIRE_FALSE(budget.failure);
  CHECK(budget.terms.sum() == budget.capacity_bytes);
  CHECK(budget.kv_available_bytes ==
        share_of(budget.capacity_bytes, 0.9) - budget.terms[MemoryPurpose::weights] -
            budget.terms[MemoryPurpose::activations] - budget.terms[MemoryPurpose::context]);
  // 800 KiB per token, no null block. The PagedAttention paper has 15.7 K slots in 12 GB on this
  // device and model.
  CHECK(budget.kv_tokens == budget.kv_available_bytes / (800 * 1024));
  CHECK(budget.usable_blocks == budget.total_blocks);
  CHECK(budget.kv_tokens > 12'000);
  CHECK(budget.kv_tokens < 16'000);
}

TEST_CASE("a plain budget fails where the weights do not fit") {
  const MemoryBudget budget = plain_budget(inputs_of("opt-66b"), {});
  REQUIRE(budget.failure);
  CHECK(budget.failure->stage == StartupStage::weights);
}

TEST_CASE("a memory fraction above one is refused") {
  PlainBudgetOptions options;
  options.memory_fraction = 1.1;
  CHECK_THROWS_AS(plain_budget(inputs_of("opt-13b"), options), ConfigError);
}

}  // namespace headroom::plain_budget_test
