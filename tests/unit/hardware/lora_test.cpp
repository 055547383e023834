// LoRA adapters: sizes by hand from the model's shapes, the slots in the budget of vLLM, and the
// price of a step.

#include "hardware/llm/lora.hpp"

#include <catch2/catch.hpp>

#include "hardware/catalog.hpp"
#include "hardware/cost/lora.hpp"
#include "sim/engines/vllm/budget.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::lora_test {
namespace {

ModelSpec model(const char* id) {
  static const Catalog catalog = Catalog::embedded();
  return catalog.model(id);
}

LoraSize llama(std::int64_t tp, bool fully_sharded) {
  return lora_size(model("llama-3.1-8b"), Sharding{.tensor = tp}, 0, {16, fully_sharded});
}

TEST_CASE("an adapter of rank 16 of Llama-3.1-8B has 41,943,040 elements") {
  // Hidden 4096, 32 heads and 8 KV heads of 128, FFN 14336. A layer, for rank 1: query, key and
  // value 3 x 4096 in, 4096 + 2 x 1024 out; output 4096 + 4096; gate and up 2 x 4096 in, 2 x 14336
  // out; down 14336 + 4096: 81,920. x 32 layers x 16. Seven matrices a layer in four fused ones.
  const LoraSize size = llama(1, false);
  CHECK(size.elements == 81'920 * 32 * 16);
  CHECK(size.elements == 41'943'040);
  CHECK(size.rank_elements == size.elements);
  CHECK(size.modules == 4 * 32);
  CHECK(size.matrices == 2 * 7 * 32);
  // Embedding and output head: vocabulary 128,256.
  CHECK(size.table_elements == 2 * (128'256 + 4096) * 16);
}

TEST_CASE("two ranks divide one matrix of each pair, fully sharded ones both") {
  // Query, key, value: 12288 + 6144 / 2; output: 4096 / 2 + 4096; gate and up: 8192 + 28672 / 2;
  // down: 14336 / 2 + 4096; 55,296 in all. Fully sharded: half of 81,920.
  CHECK(llama(2, false).rank_elements == 55'296 * 32 * 16);
  CHECK(llama(2, true).rank_elements == 40'960 * 32 * 16);
  CHECK(llama(2, false).elements == 41'943'040);
  CHECK(llama(2, true).table_elements == llama(1, false).table_elements);
}

TEST_CASE("two pipeline stages have one table and half of the layers each") {
  const Sharding sharding{.pipeline = 2};
  for (const std::int64_t stage : {0, 1}) {
    const LoraSize size = lora_size(model("llama-3.1-8b"), sharding, stage, {16, false});
    CHECK(size.elements == 41'943'040 / 2);
    CHECK(size.table_elements == (128'256 + 4096) * 16);
  }
}

TEST_CASE("models with experts or latent attention are refused") {
  for (const char* id : {"mixtral-8x7b", "deepseek-v3"}) {
    CAPTURE(id);
    CHECK_THROWS_WITH(lora_size(model(id), Sharding{}, 0, {16, false}),
                      Catch::Contains("dense layers with plain attention"));
  }
}

TEST_CASE("slots for adapters come out of the KV pool of vLLM") {
  // 16-bit elements: (41,943,040 + 4,235,264) x 2 = 92,356,608 bytes a slot.
  BudgetInputs inputs;
  inputs.model = model("llama-3.1-8b");
  inputs.device = Catalog::embedded().device("h100-sxm");
  inputs.machine = idle_machine(inputs.device);
  VllmBudgetOptions options;
  const MemoryBudget without = vllm_budget(inputs, options);
  options.lora = LoraShape{16, false};
  options.max_loras = 4;
  const MemoryBudget with = vllm_budget(inputs, options);
  CHECK(with.terms[MemoryPurpose::adapters] == 4 * ByteCount{92'356'608});
  CHECK(without.terms[MemoryPurpose::adapters] == 0);
  CHECK(without.kv_available_bytes - with.kv_available_bytes == 4 * ByteCount{92'356'608});
  CHECK(with.terms.sum() == with.capacity_bytes);
}

// 1 ns for everything.
class OneNs final : public StepCost {
 public:
  void price(const StepShape&, StepPrice& price) const override {
    price = {};
    price.base = price.base_terms[CostTerm::host] = kTicksPerNs;
  }
};

StepPrice price_of(const LoraCostOptions& options, std::int64_t adapters, TokenCount tokens) {
  StepPrice price;
  LoraCost(std::make_unique<OneNs>(), options)
      .price({.decode_rows = 9, .adapters = adapters, .adapter_tokens = tokens}, price);
  return price;
}

TEST_CASE("a step pays for launches once, for each distinct adapter and for each of its tokens") {
  const LoraCostOptions options{.step_ticks = 1000, .adapter_ticks = 100, .token_ticks = 7};
  const StepPrice price = price_of(options, 3, 8);
  CHECK(price.base == kTicksPerNs + 1000 + 3 * 100 + 8 * 7);
  CHECK(price.base_terms.sum() == price.base);
  CHECK(price.slope == 0);
}

TEST_CASE("a step without adapters pays nothing, but for launches where graphs are not apart") {
  LoraCostOptions options{.step_ticks = 1000, .adapter_ticks = 100, .token_ticks = 7};
  CHECK(price_of(options, 0, 0).base == kTicksPerNs);
  options.every_step = true;
  CHECK(price_of(options, 0, 0).base == kTicksPerNs + 1000);
}

TEST_CASE("adapters cost bytes over bandwidth, two flops an element, and launches") {
  // 1000 elements of 2 bytes at 2e9 B/s: 1000 ns; 2000 flops at 1e12: 2 ns; 3 matrices: 3 x 5.4 us.
  LoraSize size;
  size.rank_elements = 1000;
  size.modules = 3;
  const LoraCostOptions options = lora_cost_options(size, 2, 2e9, 1e12);
  CHECK(options.adapter_ticks == 1000 * kTicksPerNs);
  CHECK(options.token_ticks == 2 * kTicksPerNs);
  CHECK(options.step_ticks == 16'200 * kTicksPerNs);
}

}  // namespace
}  // namespace headroom::lora_test
