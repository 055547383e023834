#include "sim/engines/tgi/budget.hpp"

#include <catch2/catch.hpp>

#include "sim/kernel/errors.hpp"
#include "tests/unit/hardware/budget_models.hpp"

namespace headroom::tgi_budget_test {
namespace {

using namespace budget_test;

// Of Llama-3.1-8B: weights, context, and a warm-up of 4095 + 50 tokens at 2 x (2 x 4096 + 3 x
// 14336) bytes with a cache of 131072 bytes per token.
constexpr ByteCount kWeights = 16'060'522'496;
constexpr ByteCount kContext = 551'000'000;
constexpr ByteCount kActivations = 4145LL * 2 * (2 * 4096 + 3 * 14336);
constexpr ByteCount kToken = 131072;

MemoryBudget llama(double gib, const TgiBudgetOptions& options) {
  return tgi_budget(inputs_of(llama31_8b(), gib), options);
}

ByteCount left_after_warm_up(double gib) {
  return bytes_from_gib(gib) - kWeights - kContext - kActivations - 4145 * kToken;
}

bool about(BlockCount a, BlockCount b) { return a - b <= 1 && b - a <= 1; }

}  // namespace

TEST_CASE("TGI 3 keeps a tenth of total memory and adds the blocks of its warm-up") {
  const MemoryBudget budget = llama(80, {});
  REQUIRE_FALSE(budget.failure);
  const ByteCount kv = left_after_warm_up(80) - bytes_from_gib(8);
  CHECK(about(budget.total_blocks, kv / kToken + 4145));
  CHECK(budget.layout.block_tokens == 1);  // flashinfer
  CHECK(budget.usable_blocks == budget.total_blocks - 1);
  CHECK(budget.max_model_len == 131072);
  CHECK(budget.terms[MemoryPurpose::activations] == kActivations);
  CHECK(budget.terms[MemoryPurpose::graphs] == 6LL * 5 * 1024 * 1024);  // six batch sizes
  CHECK(budget.terms.sum() == budget.capacity_bytes);
}

TEST_CASE("cuda_memory_fraction of TGI 3 is multiplied by its wiggle room") {
  // (1 - 0.9 x 0.5) x 80 GiB = 44 GiB are kept.
  const MemoryBudget half = llama(80, {.cuda_memory_fraction = 0.5});
  CHECK(about(half.total_blocks, (left_after_warm_up(80) - bytes_from_gib(44)) / kToken + 4145));
  // A fraction of 0.2 keeps 65.6 GiB, more than is free: the warm-up's own blocks remain.
  CHECK(llama(80, {.cuda_memory_fraction = 0.2}).total_blocks == 4145);
}

TEST_CASE("TGI 2 takes nine tenths of what is free above the share of total memory") {
  const MemoryBudget budget = llama(80, {.version = {2, 4}});
  REQUIRE_FALSE(budget.failure);
  CHECK(budget.layout.block_tokens == 16);
  // 260 blocks of 16 hold the warm-up's 4145 tokens.
  const ByteCount free =
      bytes_from_gib(80) - kWeights - kContext - kActivations - 260 * 16 * kToken;
  CHECK(about(budget.total_blocks, free * 9 / 10 / (16 * kToken) + 260));
}

TEST_CASE("the attention kernels decide the block size of TGI") {
  CHECK(tgi_block_size(TgiAttention::flashinfer) == 1);
  CHECK(tgi_block_size(TgiAttention::flashdecoding) == 256);
  CHECK(tgi_block_size(TgiAttention::paged) == 16);
  const MemoryBudget budget = llama(80, {.attention = TgiAttention::flashdecoding});
  CHECK(budget.layout.block_bytes == 256 * kToken);
  CHECK(parse_tgi_attention("flashdecoding") == TgiAttention::flashdecoding);
  CHECK_THROWS_AS(parse_tgi_attention("flash"), ConfigError);
}

TEST_CASE("the defaults of TGI follow device, version and the model's length") {
  CHECK(tgi_defaults(device_of(80, 90), llama31_8b(), {3, 3}).attention ==
        TgiAttention::flashinfer);
  CHECK(tgi_defaults(device_of(15, 75), llama31_8b(), {3, 3}).attention == TgiAttention::paged);
  const TgiDefaults old = tgi_defaults(device_of(80, 90), llama31_8b(), {2, 4});
  CHECK(old.attention == TgiAttention::paged);
  CHECK(old.max_input_tokens == 4095);
  CHECK(old.max_batch_prefill_tokens == 4145);
  CHECK(old.max_concurrent_requests == 128);
  ModelSpec short_model = llama31_8b();
  short_model.max_position = 2048;
  CHECK(tgi_defaults(device_of(80), short_model, {3, 3}).max_batch_prefill_tokens == 2097);
}

TEST_CASE(
    "max_total_tokens of TGI is inferred from the pool when the model's length does not fit") {
  // 24 GiB: about 5.1 GiB remain for some 46 K tokens.
  const MemoryBudget budget = llama(24, {});
  REQUIRE_FALSE(budget.failure);
  CHECK(budget.max_model_len == budget.total_blocks - 1);
  CHECK(budget.max_model_len < 131072);
  REQUIRE_FALSE(budget.notes.empty());
  CHECK(budget.notes[0].find("max_total_tokens inferred") != std::string::npos);
}

TEST_CASE("max_batch_total_tokens of TGI caps the pool and is capped by it") {
  const MemoryBudget capped =
      llama(80, {.max_total_tokens = 8192, .max_batch_total_tokens = 100'000});
  CHECK(capped.total_blocks == 100'000);
  const MemoryBudget wish =
      llama(80, {.max_total_tokens = 8192, .max_batch_total_tokens = 10'000'000});
  CHECK(wish.total_blocks < 10'000'000);
  REQUIRE(wish.notes.size() == 1);
  CHECK(wish.notes[0].find("max_batch_total_tokens lowered from 10000000") != std::string::npos);
}

TEST_CASE("TGI fails where its start-up runs out of memory") {
  const auto failure_of = [](const MemoryBudget& budget) {
    CHECK(budget.terms.sum() == budget.capacity_bytes);
    REQUIRE(budget.failure);
    return *budget.failure;
  };
  CHECK(failure_of(llama(15, {})).stage == StartupStage::weights);
  const StartupFailure warm_up = failure_of(llama(16, {}));
  CHECK(warm_up.stage == StartupStage::profiling);
  CHECK(warm_up.message.find("Not enough memory to handle 4145 prefill tokens. You need to "
                             "decrease `--max-batch-prefill-tokens`") == 0);
  CHECK(warm_up.wanted_bytes == kActivations + 4145 * kToken);
  const StartupFailure length = failure_of(llama(24, {.max_total_tokens = 131072}));
  CHECK(length.stage == StartupStage::max_length_request);
  CHECK(length.message.find("Not enough memory to handle `max_total_tokens=131072`") == 0);
  CHECK(length.largest_feasible_max_model_len == llama(24, {}).max_model_len);
  BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  inputs.machine.slack_bytes = bytes_from_gib(10);
  CHECK(failure_of(tgi_budget(inputs, {})).stage == StartupStage::kv_allocation);
}

TEST_CASE("TGI without room for graphs runs without them") {
  // 0.1 % of 80 GiB for 100 sizes of 5 MiB.
  const MemoryBudget budget =
      llama(80, {.wiggle_room = 0.999, .cuda_graphs = std::vector<std::int64_t>(100, 1)});
  REQUIRE_FALSE(budget.failure);
  CHECK(budget.terms[MemoryPurpose::graphs] == 0);
  CHECK(budget.notes.back().find("cuda graph warmup failed") != std::string::npos);
}

TEST_CASE("warnings and impossible options of TGI") {
  const BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  CHECK(tgi_budget_warnings(inputs, {.version = {2, 4}}).size() == 1);
  CHECK(tgi_budget_warnings(inputs, {}).size() == 2);
  CHECK(tgi_budget_warnings(inputs, {.version = {4, 0}}).size() == 3);
  CHECK_THROWS_AS(tgi_budget(inputs, {.cuda_memory_fraction = 0}), ConfigError);
  CHECK_THROWS_AS(tgi_budget(inputs, {.max_input_tokens = 4096, .max_total_tokens = 4096}),
                  ConfigError);
  BudgetInputs pipeline = inputs;
  pipeline.sharding.pipeline = 2;
  CHECK_THROWS_AS(tgi_budget(pipeline, {}), ConfigError);
}

}  // namespace headroom::tgi_budget_test
