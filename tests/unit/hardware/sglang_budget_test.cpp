#include "sim/engines/sglang/budget.hpp"

#include <catch2/catch.hpp>
#include <utility>

#include "hardware/budget/activations.hpp"
#include "hardware/catalog.hpp"
#include "hardware/llm/drafter_model.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/engines/sglang/compressed_pool.hpp"
#include "sim/engines/sglang/loaded_weights.hpp"
#include "sim/kernel/errors.hpp"
#include "tests/unit/hardware/budget_models.hpp"

namespace headroom::sglang_budget_test {
namespace {

using namespace budget_test;

constexpr ByteCount kWeights = 16'060'522'496;  // of Llama-3.1-8B in 16 bit
constexpr ByteCount kContext = 551'000'000;
// Beside the weights, while they are loaded: with the rotary table, 131072 x 128 in fp32.
constexpr ByteCount kLoading = 70 * kMib;
constexpr ByteCount kRotary = 131072LL * 128 * 4;

MemoryBudget llama(double gib, const SglangBudgetOptions& options) {
  return sglang_budget(inputs_of(llama31_8b(), gib), options);
}

}  // namespace

TEST_CASE("the pool of SGLang is what the weights leave of a share of the memory before them") {
  const MemoryBudget budget = llama(80, {.release = {0, 5, 9}});
  REQUIRE_FALSE(budget.failure);
  const ByteCount before = bytes_from_gib(80) - kContext;
  const auto kept = static_cast<ByteCount>(static_cast<double>(before) * (1 - 0.836));
  const ByteCount kv = before - kWeights - kRotary - kLoading - kept;
  CHECK(budget.kv_available_bytes == kv);
  CHECK(budget.kv_tokens == kv / 131072);
  CHECK(budget.layout.block_tokens == 1);
  CHECK(budget.max_model_len == 131072);
  CHECK(budget.terms[MemoryPurpose::graphs] == 512LL * 1024 * 1024);  // 2 MiB x 256
  // The table of 2048 requests: 131072 + 4 positions of 4 bytes, beside the context.
  CHECK(budget.terms[MemoryPurpose::context] == kContext + kLoading + 2048LL * 131076 * 4);
  CHECK(budget.terms.sum() == budget.capacity_bytes);
}

TEST_CASE("ranks of SGLang hold NCCL's buffers for the switch on Hopper") {
  BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  inputs.device.nvlink_bytes_per_s.reset();
  const auto held = [&inputs](std::int64_t tensor) {
    inputs.sharding.tensor = tensor;
    return sglang_budget(inputs, {}).terms[MemoryPurpose::communication];
  };
  CHECK(held(2) == communication_bytes({.tensor = 2}));
  inputs.device.nvlink_bytes_per_s = 450e9;
  CHECK(held(1) == 0);
  CHECK(gib_from_bytes(held(2)) == Approx(1.02));
  CHECK(gib_from_bytes(held(8)) == Approx(1.04));
  inputs.device.sm = 86;  // bridges between cards have no switch
  CHECK(held(2) == communication_bytes({.tensor = 2}));
}

TEST_CASE("a page size and max_total_tokens round the pool of SGLang down") {
  const MemoryBudget pages = llama(80, {.max_total_tokens = 10'000, .page_size = 64});
  CHECK(pages.kv_tokens == 156 * 64);
  CHECK(pages.max_model_len == 156 * 64 - 1);
  REQUIRE(pages.notes.size() == 1);
  CHECK(pages.notes[0].find("requests are limited to 9983 tokens") != std::string::npos);
  const MemoryBudget wish = llama(80, {.max_total_tokens = 10'000'000});
  CHECK(wish.kv_tokens < 10'000'000);
  REQUIRE(wish.notes.size() == 1);
  CHECK(wish.notes[0].find("larger than the profiled value") != std::string::npos);
}

TEST_CASE("requests that run together in SGLang are clamped to 2048 and 4096") {
  const BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  const auto requests = [&](const SglangBudgetOptions& options) {
    return sglang_max_running_requests(inputs, options, sglang_budget(inputs, options));
  };
  // About 421 K tokens: / 131072 x 512 = 1644, / 65536 x 512 = 3289, / 4096 x 512 = 52 K.
  CHECK(requests({}) == 2048);
  const std::int64_t middle = requests({.context_length = 65536});
  CHECK(middle > 3200);
  CHECK(middle < 3400);
  CHECK(requests({.context_length = 4096}) == 4096);
  CHECK(requests({.max_running_requests = 128}) == 128);
}

TEST_CASE("SGLang fails where its start-up runs out of memory") {
  const auto failure_of = [](const MemoryBudget& budget) {
    CHECK(budget.terms.sum() == budget.capacity_bytes);
    REQUIRE(budget.failure);
    return *budget.failure;
  };
  CHECK(failure_of(llama(15, {})).stage == StartupStage::weights);
  const StartupFailure blocks = failure_of(llama(80, {.mem_fraction_static = 0.15}));
  CHECK(blocks.stage == StartupStage::blocks);  // 12 GiB for 14.96 GiB of weights
  CHECK(blocks.message ==
        "Not enough memory. Please try to increase --mem-fraction-static. Current value: "
        "mem_fraction_static=0.15");
  // The table of requests, 1.07 GB, has only a hundredth of 80 GiB.
  CHECK(failure_of(llama(80, {.mem_fraction_static = 0.99})).stage == StartupStage::kv_allocation);
  // Nor have 512 MiB of graphs room in a thousandth.
  const StartupFailure graphs =
      failure_of(llama(80, {.mem_fraction_static = 0.999, .context_length = 4096}));
  CHECK(graphs.stage == StartupStage::graph_capture);
  CHECK(graphs.message.find("Capture CUDA graph failed") != std::string::npos);
  BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  inputs.machine.slack_bytes = bytes_from_gib(15);  // 64.5 GiB free, 51.5 wanted, 49.5 to be had
  const StartupFailure slack = failure_of(sglang_budget(inputs, {}));
  CHECK(slack.stage == StartupStage::kv_allocation);
  CHECK(slack.message.find("CUDA out of memory while allocating") != std::string::npos);
}

TEST_CASE("SGLang starts with too little memory for activations and says so") {
  // 3 % of 80 GiB are left; 32768 tokens need 2 x 51200 bytes each, 3.1 GiB.
  const MemoryBudget budget = llama(
      80, {.mem_fraction_static = 0.97, .chunked_prefill_size = 32768, .context_length = 4096});
  REQUIRE_FALSE(budget.failure);
  REQUIRE(budget.notes.size() == 1);
  CHECK(budget.notes[0].find("runs out of memory later") != std::string::npos);
  CHECK(budget.terms[MemoryPurpose::margin] == 0);
}

TEST_CASE("memory taken before SGLang starts costs its share, taken later all of itself") {
  BudgetInputs inputs = inputs_of(llama31_8b(), 119.7);
  inputs.device = device_of(119.7, 121, MemoryModel::unified);
  const SglangBudgetOptions options{.mem_fraction_static = 0.75};
  const ByteCount clean = sglang_budget(inputs, options).kv_available_bytes;
  inputs.machine.others_bytes = bytes_from_gib(8);
  const ByteCount before = sglang_budget(inputs, options).kv_available_bytes;
  CHECK(clean - before == bytes_from_gib(6));  // kept: a quarter of what was there
  // So does its own host memory, which the engine takes before its first look.
  inputs.machine.engine_host_bytes = bytes_from_gib(4);
  CHECK(before - sglang_budget(inputs, options).kv_available_bytes == bytes_from_gib(3));
  inputs.machine.cache_growth_bytes = bytes_from_gib(2);
  CHECK(before - sglang_budget(inputs, options).kv_available_bytes == bytes_from_gib(5));
}

namespace {

// Four layers of latent attention, 16 heads of 128 + 64 and values of 128 from a latent of 512.
ModelSpec latent_model() {
  ModelSpec model = dense_model("latent-test", {4, 2048, 16, 16, 192, 8192, 32000, 8192});
  AttentionSpec& a = *model.kinds.front().attention;
  a.v_head_dim = 128;
  a.mla = MlaSpec{512, 0, 128, 64, 128};
  return model;
}

ByteCount loaded(const BudgetInputs& inputs, SglangRelease release = {}) {
  return sglang_loaded_weight_bytes(inputs, 0, release);
}

ByteCount share_of_checkpoint(const BudgetInputs& inputs) {
  return rank_parts(inputs.model, inputs.sharding, 0).bytes_total() +
         sglang_rotary_bytes(inputs.model, inputs.device);
}

}  // namespace

TEST_CASE("SGLang keeps the up-projections of latent attention twice") {
  BudgetInputs inputs = inputs_of(latent_model(), 80);
  inputs.sharding.tensor = 2;
  const std::int64_t elements = 4 * 512 * (128 + 128) * 8;  // of 8 heads per rank
  CHECK(loaded(inputs) - share_of_checkpoint(inputs) == 2 * elements);
  inputs.model.kinds.front().attention->format = format_of(Dtype::fp8);
  CHECK(loaded(inputs) - share_of_checkpoint(inputs) == elements);
  const BudgetInputs plain = inputs_of(llama31_8b(), 80);
  CHECK(loaded(plain) == share_of_checkpoint(plain));
}

TEST_CASE("SGLang keeps a rotary table of each width in fp32") {
  const BudgetInputs plain = inputs_of(llama31_8b(), 80);
  const std::int64_t rows = plain.model.max_position;
  CHECK(sglang_rotary_bytes(plain.model, plain.device) == rows * 128 * 4);
  DeviceSpec amd = plain.device;
  amd.vendor = "amd";
  CHECK(sglang_rotary_bytes(plain.model, amd) == rows * 128 * 2);
  const ModelSpec gemma = Catalog::embedded().model("gemma-4-31b");
  CHECK(sglang_rotary_bytes(gemma, plain.device) == 262144LL * (256 + 512) * 4);
}

TEST_CASE("swizzled block scales leave a hole per layer of NVFP4 experts in SGLang 0.5.7") {
  BudgetInputs inputs = inputs_of(Catalog::embedded().model("kimi-k2-thinking-nvfp4"), 95);
  inputs.sharding.tensor = 8;
  inputs.device.sm = 120;
  // 60 layers of 384 experts: 7168 x 2048 / 8 elements, one byte for 16.
  constexpr ByteCount kHoles = 60LL * 384 * 7168 * 256 / 16;
  CHECK(loaded(inputs, {0, 5, 7}) - loaded(inputs, {0, 5, 10}) == kHoles);
  inputs.device.sm = 100;
  CHECK(loaded(inputs, {0, 5, 7}) == loaded(inputs, {0, 5, 10}));
}

TEST_CASE("SGLang does not divide the tower of MoonViT") {
  BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  inputs.sharding.tensor = 8;
  VisionSpec tower;
  tower.params = 800;
  tower.format = format_of(Dtype::bf16);
  inputs.model.vision = tower;
  CHECK(loaded(inputs) == share_of_checkpoint(inputs));
  tower.family = VisionSpec::Family::moonvit;
  inputs.model.vision = tower;
  CHECK(loaded(inputs) - share_of_checkpoint(inputs) == 2 * 7 * 100);
}

TEST_CASE("data ranks of SGLang hold the whole embedding and a smaller part of the head") {
  BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  inputs.sharding = {.tensor = 2, .data = 4};
  constexpr ByteCount kTable = 128256LL * 4096 * 2;
  CHECK(loaded(inputs) - share_of_checkpoint(inputs) == kTable / 2 - kTable / 2 * 3 / 4);
}

TEST_CASE("SGLang holds the whole table of Gemma 3 and 4 on every rank") {
  BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  inputs.sharding.tensor = 4;
  const ByteCount share = share_of_checkpoint(inputs);
  constexpr ByteCount kTable = 128256LL * 4096 * 2;
  for (const char* architecture : {"Gemma3ForCausalLM", "Gemma4ForConditionalGeneration"}) {
    inputs.model.architecture = architecture;
    CHECK(loaded(inputs) - share == kTable / 4 * 3);
  }
  inputs.model.architecture = "Gemma2ForCausalLM";
  CHECK(loaded(inputs) == share);
}

TEST_CASE("SGLang 0.5.3 to 0.5.9 keeps what it loaded of Qwen3's experts") {
  BudgetInputs inputs = inputs_of(Catalog::embedded().model("qwen3-30b-a3b"), 192);
  const ByteCount share = share_of_checkpoint(inputs);
  CHECK(loaded(inputs, {0, 5, 9}) == share);  // in 16 bits as loaded
  inputs.device.vendor = "amd";
  // 48 layers of 128 experts, three of 2048 x 768 each: 54 GiB, and 111.0 GB in the pull request.
  constexpr ByteCount kExperts = 48LL * 128 * 3 * 2048 * 768 * 2;
  const ByteCount on_amd = share_of_checkpoint(inputs);
  CHECK(loaded(inputs, {0, 5, 9}) - on_amd == kExperts);
  CHECK(gib_from_bytes(loaded(inputs, {0, 5, 9})) == Approx(110.98).epsilon(0.005));
  CHECK(loaded(inputs, {0, 5, 10}) == on_amd);
  inputs.device.vendor = "nvidia";
  inputs.model.quantization_method = "gptq";
  const ModelParts parts = rank_parts(inputs.model, {}, 0);
  CHECK(loaded(inputs, {0, 5, 3}) - share == kExperts + parts.bytes_of(ModelPart::attention));
  CHECK(loaded(inputs, {0, 5, 10}) == share);
}

TEST_CASE("SGLang holds the layers of Ministral 3 twice while it sizes its pool") {
  BudgetInputs inputs = inputs_of(Catalog::embedded().model("devstral-small-2-24b"), 24);
  inputs.sharding.tensor = 2;
  const ByteCount once = share_of_checkpoint(inputs);
  // 40 layers: query and output 5120 x 4096, key and value 5120 x 1024, three of 5120 x 32768 in
  // the MLP, divided by two; two norms whole, and the last one, which is there once. In 16 bits.
  constexpr ByteCount kMatrices = 5120LL * (2 * 4096 + 2 * 1024 + 3 * 32768) / 2;
  CHECK(loaded(inputs, {0, 5, 12}) - once == 2 * (40 * (kMatrices + 2 * 5120) + 5120));
  CHECK(loaded(inputs, {0, 5, 6}) == once);
  inputs.model = Catalog::embedded().model("mistral-small-3.1-24b");
  CHECK(loaded(inputs, {0, 5, 12}) == share_of_checkpoint(inputs));
}

TEST_CASE("SGLang 0.5.12 to 0.5.16 keeps the loader's scales of 4-bit experts on Hopper") {
  BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  inputs.device.sm = 90;
  inputs.model.quantization_method = "fp8";
  LayerKind layer = inputs.model.kinds.front();
  layer.mlp.reset();
  MoeSpec& moe = layer.moe.emplace();
  moe.experts = 8;
  moe.top_k = 2;
  moe.ffn = 1024;
  moe.format = format_of(Dtype::mxfp4);
  inputs.model.kinds.front() = layer;
  constexpr ByteCount kScales = 32LL * 8 * 3 * 4096 * 1024 / 32 * 4;  // 32 layers
  const ByteCount share = share_of_checkpoint(inputs);
  CHECK(loaded(inputs, {0, 5, 14}) - share == kScales);
  CHECK(loaded(inputs, {0, 5, 17}) == share);
  CHECK(loaded(inputs, {0, 5, 11}) == share);
  inputs.device.sm = 100;
  CHECK(loaded(inputs, {0, 5, 14}) == share);
}

TEST_CASE("recurrent states are a part of SGLang's pool of their own") {
  const BudgetInputs inputs = inputs_of(hybrid_27b(), 140);
  // 48 layers x (48 x 128 x 128 + 3 x 10240) values in 16 bit.
  constexpr ByteCount kState = 48LL * (48 * 128 * 128 + 3 * 10240) * 2;
  const SglangBudgetOptions given{.max_mamba_cache_size = 64};
  const MemoryBudget fixed = sglang_budget(inputs, given);
  REQUIRE_FALSE(fixed.failure);
  CHECK(fixed.terms[MemoryPurpose::kv_pool] - fixed.kv_pool_bytes == 64 * kState);
  CHECK(sglang_max_running_requests(inputs, given, fixed) == 64 / 3);
  const MemoryBudget ratio = sglang_budget(inputs, {});
  const auto states =
      static_cast<double>(ratio.terms[MemoryPurpose::kv_pool] - ratio.kv_pool_bytes);
  CHECK(states / static_cast<double>(ratio.kv_pool_bytes) == Approx(0.9).margin(0.01));
  const SglangBudgetOptions no_radix{.max_running_requests = 100, .disable_radix_cache = true};
  const MemoryBudget seats = sglang_budget(inputs, no_radix);
  CHECK(seats.terms[MemoryPurpose::kv_pool] - seats.kv_pool_bytes == 100 * kState);
  CHECK(sglang_max_running_requests(inputs, no_radix, seats) == 100);
}

TEST_CASE("windows of gpt-oss have a smaller pool in SGLang, those of Gemma none") {
  const Dense d{12, 2880, 64, 8, 64, 2880, 201088, 131072};
  ModelSpec model = dense_model("gpt-oss-test", d);
  LayerKind window = dense_layer(d, Dtype::bf16);
  window.attention->window_tokens = 128;
  add_layers(model, window, 12);
  // 2 x 8 x 64 x 2 = 2048 bytes per layer: 12 x 2048 + 0.8 x 12 x 2048 = 44236.8.
  CHECK(sglang_budget(inputs_of(model, 80), {}).layout.bytes_per_token == 44236);
  model.id = "gemma-test";
  CHECK(sglang_budget(inputs_of(model, 80), {}).layout.bytes_per_token == 24 * 2048);
  CHECK(sglang_budget(inputs_of(model, 80), {.hybrid_swa_memory = true}).layout.bytes_per_token ==
        44236);
}

TEST_CASE("until 0.5.8 SGLang sizes the pools of windows with other heads too small") {
  const ModelSpec model = Catalog::embedded().model("mimo-v2-flash");
  BudgetInputs inputs = inputs_of(model, 140);
  inputs.sharding.tensor = 4;
  const auto tokens = [&](SglangRelease release) {
    const MemoryBudget budget =
        sglang_budget(inputs, {.release = release, .mem_fraction_static = 0.7, .page_size = 64});
    REQUIRE_FALSE(budget.failure);
    // 9 layers of one KV head and 39 with a window of two, keys of 192 and values of 128, in 16
    // bits: 9 x 640 + 0.8 x 39 x 1280 bytes are used.
    CHECK(budget.layout.bytes_per_token == 45'696);
    return std::pair(budget.kv_tokens, budget.kv_available_bytes);
  };
  // (48 x 640 + 39 x 1280) x (0.8 x 39 + 9) / 48 = 67,536 are counted before.
  const auto [before, memory] = tokens({0, 5, 8});
  CHECK(before == memory / (67'536 * 64) * 64);
  const auto [after, same] = tokens({0, 5, 9});
  CHECK(after == same / (45'696 * 64) * 64);
}

TEST_CASE("a token of DeepSeek V4 pays for its share of SGLang's windows and states") {
  const ModelSpec model = Catalog::embedded().model("deepseek-v4-flash");
  const auto pool = [&](SglangRelease release, double ratio) {
    return sglang_compressed_pool(model, {}, 0, release, ratio).value();
  };
  // 43 windows of 584 bytes; 21 x (584 + 132) / 4 and 20 x 584 / 128; 21 states of 16 x 640 bytes
  // in 8 of 128 slots, and 20 of 8 x 512 bytes in all of them.
  const double entries = 21 * (584 + 132) / 4.0 + 20 * 584 / 128.0;
  const double windows = 43 * 584 + 21 * 16 * 640 / 16.0;
  CHECK(pool({0, 5, 12}, 0.8).bytes_per_token ==
        Approx(entries + 0.1 * (windows + 20 * 8 * 512)));  // the default stands for 0.1
  CHECK(pool({0, 5, 12}, 0.5).bytes_per_token == Approx(entries + 0.5 * (windows + 20 * 8 * 512)));
  CHECK(pool({0, 5, 16}, 0.8).bytes_per_token == Approx(entries + 0.1 * windows));
  CHECK(pool({0, 5, 16}, 0.8).bytes_per_request == 20 * 128 * 8 * 512);
  const BudgetInputs inputs = inputs_of(model, 280);
  const MemoryBudget budget = sglang_budget(inputs, {.release = {0, 5, 12}});
  REQUIRE_FALSE(budget.failure);
  CHECK(budget.terms[MemoryPurpose::kv_pool] == budget.kv_pool_bytes);  // no states beside it
  CHECK_FALSE(sglang_compressed_pool(llama31_8b(), {}, 0, {}, 0.8));
}

// Llama-3.1-8B has 32 layers and 131072 bytes a token; a drafter of one layer adds 4096.
TEST_CASE("SGLang's drafter lies in the static share from 0.5.14, and outside of it before") {
  BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  SglangBudgetOptions options{.max_running_requests = 48, .draft_tokens = 4, .tree_tokens = 3};
  options.mem_fraction_static = 0.8;
  options.speculative_algorithm = SglangSpeculation::eagle;
  const auto budget_at = [&](std::int32_t patch, bool drafter) {
    inputs.drafter.reset();
    if (drafter) inputs.drafter = eagle_head(inputs.model);
    options.release.patch = patch;
    return sglang_budget(inputs, options);
  };
  const ByteCount weights = rank_weight_bytes(eagle_head(inputs.model), {});
  const MemoryBudget plain = budget_at(15, false);
  const MemoryBudget newer = budget_at(15, true);
  CHECK(newer.layout.bytes_per_token == 131072 + 4096);
  CHECK(newer.terms[MemoryPurpose::drafter] == weights);
  CHECK(newer.kv_available_bytes == plain.kv_available_bytes - weights);
  const MemoryBudget older = budget_at(9, true);
  CHECK(older.kv_tokens == plain.kv_tokens);
  CHECK(older.terms[MemoryPurpose::drafter] == weights + older.kv_tokens * 4096);
  // Up to 0.5.6 the pool is longer by 48 x (3 + 4) + 100 tokens.
  CHECK(budget_at(6, true).kv_tokens == older.kv_tokens + 436);
}

TEST_CASE("warnings and impossible options of SGLang") {
  const BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  CHECK(sglang_budget_warnings(inputs, {}).size() == 1);
  CHECK(sglang_budget_warnings(inputs, {.release = {0, 6, 0}}).size() == 2);
  CHECK(sglang_budget_warnings(inputs, {.release = {0, 4, 6}}).size() == 1);
  CHECK_THROWS_AS(sglang_budget(inputs, {.mem_fraction_static = 1.0}), ConfigError);
  CHECK_THROWS_AS(sglang_budget(inputs, {.chunked_prefill_size = 0}), ConfigError);
  CHECK_THROWS_AS(sglang_budget(inputs, {.page_size = 0}), ConfigError);
  ModelSpec recurrent = hybrid_27b();
  for (LayerKind& kind : recurrent.kinds) kind.attention.reset();
  CHECK_THROWS_AS(sglang_budget(inputs_of(recurrent, 140), {}), ConfigError);
}

}  // namespace headroom::sglang_budget_test
