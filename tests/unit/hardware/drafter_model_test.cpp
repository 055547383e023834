#include "hardware/llm/drafter_model.hpp"

#include <catch2/catch.hpp>

#include "hardware/catalog.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/engines/trtllm/budget.hpp"
#include "sim/engines/vllm/budget.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::drafter_model_test {
namespace {

const Catalog& catalog() {
  static const Catalog instance = Catalog::embedded();
  return instance;
}

BudgetInputs on_h100(const char* model) {
  BudgetInputs inputs;
  inputs.model = catalog().model(model);
  inputs.device = catalog().device("h100-sxm");
  inputs.machine = idle_machine(inputs.device);
  return inputs;
}

// Llama-3.1-8B: 4096 wide, 32 query and 8 KV heads of 128, MLP 14336.
constexpr std::int64_t kFc = 4096 * 4096;
constexpr std::int64_t kLayer = 2 * 4096 * (4096 + 1024) + 3 * 4096 * 14336;

}  // namespace

TEST_CASE("an EAGLE head is a layer of its target and a projection of two hidden vectors") {
  const ModelSpec head = eagle_head(catalog().model("llama-3.1-8b"));
  // The norm before the MLP and the one behind the layer.
  CHECK(params_total(head) == 2 * kFc + kLayer + 2 * 4096);
  CHECK(checkpoint_bytes(head) == 2 * params_total(head));
  // fc lies whole on both ranks.
  Sharding two;
  two.tensor = 2;
  CHECK(rank_weight_bytes(head, two) == 2 * (2 * kFc + kLayer / 2 + 2 * 4096));
}

TEST_CASE("an EAGLE-3 head reads two vectors side by side and has its own short output head") {
  const ModelSpec head = eagle3_head(catalog().model("llama-3.1-8b"));
  const std::int64_t wider = 4096 * (4096 + 2 * 1024);  // queries, keys and values
  CHECK(params_total(head) == 3 * kFc + kLayer + wider + 32'000 * 4096 + 4 * 4096);
}

// What the checkpoint ships is the module and, again, both tables of 129280 x 7168 in 16 bit.
TEST_CASE("the prediction module of DeepSeek-R1 is what its checkpoint ships without its tables") {
  const ModelSpec r1 = catalog().model("deepseek-r1");
  const ModelSpec module = mtp_module(r1);
  CHECK(checkpoint_bytes(module) == r1.unloaded_bytes - 2 * 129'280LL * 7'168 * 2);
}

TEST_CASE("tools that quantise to 4 bits leave the prediction module in 16") {
  const ModelSpec plain = catalog().model("qwen3.5-27b");
  const ByteCount bytes = checkpoint_bytes(mtp_module(plain));
  CHECK(checkpoint_bytes(mtp_module(quantised(plain, Dtype::nvfp4))) == bytes);
  CHECK(checkpoint_bytes(mtp_module(quantised(plain, Dtype::int4))) == bytes);
  CHECK(checkpoint_bytes(mtp_module(quantised(plain, Dtype::fp8))) < bytes);
}

// An attention layer and a layer of 512 experts (two matrices of 1024 x 2688 each), in 16 bit.
TEST_CASE("the prediction module of a model with layers of experts has one of them") {
  const ModelSpec module = mtp_module(catalog().model("nemotron-3-super-120b-a12b-nvfp4"));
  REQUIRE(module.layers() == 2);
  CHECK(module.layer(1).moe->experts == 512);
  CHECK(static_cast<double>(checkpoint_bytes(module)) > 2.0 * 512 * 2 * 1024 * 2688);
}

// Qwen3-30B-A3B: 8 of 128 experts of 768, so a token sees 6144 columns; 32 query heads of 128.
TEST_CASE("an EAGLE head of a model with experts has a dense MLP") {
  const ModelSpec head = eagle_head(catalog().model("qwen3-30b-a3b"));
  REQUIRE(head.kinds.size() == 1);
  CHECK_FALSE(head.kinds[0].moe);
  CHECK(head.kinds[0].mlp->ffn == 8 * 768);
}

TEST_CASE("a DFlash head has five layers of a dense target and eight beside experts") {
  // z-lab's for Qwen3.6-27B has 3.3 GB, with 32 query heads of 128 instead of 24 of 256.
  const ModelSpec dense = dflash_head(catalog().model("qwen3.5-27b"));
  CHECK(dense.layers() == 5);
  CHECK(static_cast<double>(checkpoint_bytes(dense)) / 1e9 == Approx(3.4).epsilon(0.06));
  // Half a billion parameters beside 35; keys of 2 x 256 elements as in the target.
  const ModelSpec sparse = dflash_head(catalog().model("qwen3.5-35b-a3b"));
  CHECK(sparse.layers() == 8);
  CHECK(static_cast<double>(params_total(sparse)) / 1e9 == Approx(0.5).epsilon(0.1));
  CHECK(sparse.kinds[0].attention->kv_heads * sparse.kinds[0].attention->head_dim == 512);
}

TEST_CASE("a drafter cannot be shaped as a model without attention") {
  ModelSpec model = catalog().model("llama-3.1-8b");
  model.kinds[0].attention.reset();
  CHECK_THROWS_AS(eagle_head(model), ConfigError);
}

// 32 layers of 4 KiB a token and one more: 132 KiB, 2,162,688 bytes a block of 16. 60 GiB are
// 64,424,509,440 bytes: 29789 blocks instead of 30720.
TEST_CASE("vLLM's blocks hold the drafter's layers too") {
  BudgetInputs inputs = on_h100("llama-3.1-8b");
  inputs.drafter = eagle_head(inputs.model);
  VllmBudgetOptions options;
  options.kv_cache_memory_bytes = bytes_from_gib(60);
  const MemoryBudget budget = vllm_budget(inputs, options);
  CHECK(budget.layout.uniform());
  CHECK(budget.layout.block_bytes == 2'162'688);
  CHECK(budget.total_blocks == 29'789);
}

TEST_CASE("vLLM's pool loses what the drafter's weights take") {
  BudgetInputs inputs = on_h100("llama-3.1-8b");
  const MemoryBudget alone = vllm_budget(inputs, {});
  inputs.drafter = eagle_head(inputs.model);
  const MemoryBudget with = vllm_budget(inputs, {});
  const ByteCount weights = with.terms[MemoryPurpose::drafter];
  CHECK(weights >= checkpoint_bytes(*inputs.drafter));
  // torch's rounding of its matrices: less than 2 MiB each.
  CHECK(weights < checkpoint_bytes(*inputs.drafter) + (ByteCount{8} << 20));
  CHECK(alone.kv_available_bytes - with.kv_available_bytes == weights);
  CHECK(with.terms.sum() == with.capacity_bytes);
}

// gpt-oss-20b: 12 full and 12 sliding layers of 2 KiB a token. The head's layer sees everything:
// 13 and 12, so ids are 13 layers wide (ENGINES.md 2.4).
TEST_CASE("a drafter's layer joins the group of layers that keep every token") {
  BudgetInputs inputs = on_h100("gpt-oss-20b");
  inputs.drafter = eagle_head(inputs.model);
  const MemoryBudget budget = vllm_budget(inputs, {});
  REQUIRE(budget.layout.groups.size() == 2);
  CHECK(budget.layout.groups[0].kind == KvGroupKind::full);
  CHECK(budget.layout.groups[0].layers == 13);
  CHECK(budget.layout.groups[1].layers == 12);
  CHECK(budget.layout.block_bytes == 13 * 16 * 2048);
}

// Two stages of 16 layers: the second one drafts.
TEST_CASE("the drafter lies on the last stage of a pipeline") {
  BudgetInputs inputs = on_h100("llama-3.1-8b");
  inputs.sharding.pipeline = 2;
  inputs.drafter = eagle_head(inputs.model);
  const MemoryBudget budget = vllm_budget(inputs, {});
  CHECK(budget.terms[MemoryPurpose::drafter] > 0);
  CHECK(budget.layout.bytes_per_token == 17 * 4096);
}

// Qwen3-8B: 36 layers, Qwen3-0.6B: 28 layers, both of 4 KiB a token: 256 KiB together.
TEST_CASE("TensorRT-LLM counts a token in the bytes of target and draft model") {
  BudgetInputs inputs = on_h100("qwen3-8b");
  const MemoryBudget alone = trtllm_budget(inputs, {});
  inputs.drafter = catalog().model("qwen3-0.6b");
  const MemoryBudget with = trtllm_budget(inputs, {});
  CHECK(with.layout.bytes_per_token == 256 * 1024);
  const ByteCount weights = rank_weight_bytes(*inputs.drafter, {});
  CHECK(with.terms[MemoryPurpose::drafter] == weights);
  // A tenth of what is left stays free.
  const auto less = static_cast<double>(alone.kv_available_bytes - with.kv_available_bytes);
  CHECK(less == Approx(0.9 * static_cast<double>(weights)).epsilon(1e-6));
}

}  // namespace headroom::drafter_model_test
