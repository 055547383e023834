#include "sim/engines/fastertransformer/budget.hpp"

#include <catch2/catch.hpp>

#include "sim/kernel/errors.hpp"
#include "tests/unit/hardware/budget_models.hpp"

namespace headroom::fastertransformer_budget_test {
namespace {

using namespace budget_test;

// GPT-like, the sizes of OPT-13B: 2 x 40 layers x 5120 x 2 bytes = 819,200 bytes per token.
ModelSpec gpt_13b() {
  ModelSpec m = dense_model("gpt-13b", {40, 5120, 40, 40, 128, 20480, 50272, 2048}, Dtype::fp16);
  m.kinds.front().mlp->gated = false;
  m.tie_embeddings = true;
  return m;
}
constexpr ByteCount kToken = 819'200;

FtBudgetOptions options_of(FtGeneration generation, const FtBatch& batch) {
  return {.generation = generation, .batch = batch};
}

}  // namespace

TEST_CASE("the buffers of FasterTransformer are contiguous and the mask is quadratic") {
  const FtBuffers b =
      ft_buffers(gpt_13b(), {}, options_of(FtGeneration::per_batch, {4, 1, 1024, 1024}));
  CHECK(b.cache == 4 * 2048 * kToken);
  CHECK(b.second_cache == 0);
  CHECK(b.indirection == 0);
  CHECK(b.mask == 4LL * 2048 * 2048 * 2);
  CHECK(b.logits == 2LL * 4 * 50272 * 4);  // 50272 is a multiple of 8
  CHECK(b.context == 2LL * 4 * 1024 * 5120 * 2);
  CHECK(b.scores == 4LL * 40 * 1024 * 1024 * 4);
  const FtBuffers half =
      ft_buffers(gpt_13b(), {}, {.batch = {4, 1, 1024, 1024}, .fp32_context_scores = false});
  CHECK(half.scores == b.scores / 2);
}

TEST_CASE("beams are doubled in the older FasterTransformer and indexed in the newer") {
  const FtBatch batch{2, 4, 512, 512};
  const FtBuffers older = ft_buffers(gpt_13b(), {}, options_of(FtGeneration::configured, batch));
  const FtBuffers newer = ft_buffers(gpt_13b(), {}, options_of(FtGeneration::per_batch, batch));
  CHECK(older.cache == 8 * 1024 * kToken);
  CHECK(older.second_cache == older.cache);
  CHECK(older.indirection == 0);
  CHECK(newer.cache == older.cache);
  CHECK(newer.second_cache == 0);
  CHECK(newer.indirection == 2LL * 8 * 1024 * 4);
}

TEST_CASE("tensor and pipeline ranks share the cache of FasterTransformer") {
  const FtBudgetOptions options = options_of(FtGeneration::per_batch, {4, 1, 1024, 1024});
  const ByteCount one = ft_buffers(gpt_13b(), {}, options).cache;
  CHECK(ft_buffers(gpt_13b(), {.tensor = 4}, options).cache == one / 4);
  CHECK(ft_buffers(gpt_13b(), {.tensor = 2, .pipeline = 2}, options).cache == one / 4);
}

TEST_CASE("the older FasterTransformer reallocates 1.2 times a batch that is too large") {
  const FtBudgetOptions older = options_of(FtGeneration::configured, {8, 1, 1024, 1024});
  const FtBatch fits = ft_reallocated(older, {8, 1, 512, 100});
  CHECK(fits.sequences == 8);
  CHECK(fits.sequence_tokens() == 2048);
  // 10 x 1.2 = 12; 512 x 1.2 = 614.4, up; 1024 x 1.2 = 1228.8, up.
  const FtBatch more = ft_reallocated(older, {10, 1, 512, 512});
  CHECK(more.sequences == 12);
  CHECK(more.input_tokens == 615);
  CHECK(more.sequence_tokens() == 1229);
  const FtBatch exact =
      ft_reallocated(options_of(FtGeneration::per_batch, {8, 1, 1024, 1024}), {10, 1, 512, 512});
  CHECK(exact.sequences == 10);
  CHECK(exact.sequence_tokens() == 1024);
}

TEST_CASE("FasterTransformer reserves batch x longest sequence at start") {
  const BudgetInputs inputs = inputs_of(gpt_13b(), 40);
  const MemoryBudget budget =
      fastertransformer_budget(inputs, options_of(FtGeneration::per_batch, {4, 1, 1024, 1024}));
  REQUIRE_FALSE(budget.failure);
  CHECK(budget.kv_pool_bytes == 4 * 2048 * kToken);
  CHECK(budget.total_blocks == 4 * 2048);
  CHECK(budget.max_concurrency == 4.0);
  CHECK(budget.layout.block_tokens == 1);
  CHECK(budget.terms.sum() == budget.capacity_bytes);
  const MemoryBudget beams =
      fastertransformer_budget(inputs, options_of(FtGeneration::configured, {2, 2, 512, 512}));
  CHECK(beams.terms[MemoryPurpose::kv_pool] == 2 * beams.kv_pool_bytes);
}

TEST_CASE("FasterTransformer fails loading weights or allocating its buffers") {
  const FtBudgetOptions options = options_of(FtGeneration::per_batch, {16, 1, 1024, 1024});
  const MemoryBudget weights = fastertransformer_budget(inputs_of(gpt_13b(), 20), options);
  REQUIRE(weights.failure);
  CHECK(weights.failure->stage == StartupStage::weights);
  // 24 GiB of weights and 25 of cache.
  const MemoryBudget buffers = fastertransformer_budget(inputs_of(gpt_13b(), 40), options);
  REQUIRE(buffers.failure);
  CHECK(buffers.failure->stage == StartupStage::kv_allocation);
  CHECK(buffers.failure->message.find("[FT][ERROR] CUDA runtime error: out of memory") == 0);
  CHECK(buffers.terms.sum() == buffers.capacity_bytes);
}

TEST_CASE("defaults, warnings and impossible options of FasterTransformer") {
  CHECK(fastertransformer_defaults(gpt_13b()).batch.sequence_tokens() == 2048);
  ModelSpec gpt2 = gpt_13b();
  gpt2.position_rows = 1024;
  CHECK(fastertransformer_defaults(gpt2).batch.sequence_tokens() == 1024);
  CHECK(fastertransformer_budget_warnings(inputs_of(gpt_13b(), 40), {}).size() == 1);
  CHECK(fastertransformer_budget_warnings(inputs_of(llama31_8b(), 40), {}).size() == 2);
  CHECK(fastertransformer_budget_warnings(inputs_of(hybrid_27b(), 40), {}).size() == 3);
  CHECK_THROWS_AS(fastertransformer_budget(inputs_of(gpt_13b(), 40),
                                           options_of(FtGeneration::per_batch, {0, 1, 1, 1})),
                  ConfigError);
}

}  // namespace headroom::fastertransformer_budget_test
