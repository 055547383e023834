// Rules of vLLM's start-up for some models, devices and releases alone.
#include <catch2/catch.hpp>

#include "hardware/catalog.hpp"
#include "hardware/llm/drafter_model.hpp"
#include "sim/engines/vllm/budget.hpp"
#include "sim/engines/vllm/defaults.hpp"

namespace headroom::vllm_memory_rules_test {
namespace {

const Catalog& catalog() {
  static const Catalog instance = Catalog::embedded();
  return instance;
}

BudgetInputs inputs_of(const char* model, const char* device) {
  BudgetInputs inputs;
  inputs.model = catalog().model(model);
  inputs.device = catalog().device(device);
  inputs.machine = idle_machine(inputs.device);
  return inputs;
}

}  // namespace

TEST_CASE("V0 beside V1 profiles and sizes its pool as before V1") {
  // MI300X with whole prompts of 131,072 tokens (a log of 0.9.2 at 0.8): 122.99 GiB for KV.
  BudgetInputs inputs = inputs_of("llama-3.1-8b", "mi300x");
  inputs.machine.total_bytes = bytes_from_gib(191.98);
  VllmBudgetOptions options;
  options.version = {0, 9};
  options.v0 = true;
  options.gpu_memory_utilization = 0.8;
  options.max_model_len = options.max_num_batched_tokens = 131072;
  const MemoryBudget v0 = vllm_budget(inputs, options);
  CHECK(gib_from_bytes(v0.kv_available_bytes) == Approx(122.99).epsilon(0.01));
  options.version = {0, 7};
  CHECK(vllm_budget(inputs, options).kv_available_bytes == v0.kv_available_bytes);
}

TEST_CASE("where FlashInfer has sparse MLA its latents in 8 bits carry no scales") {
  const auto bytes = [](const char* device, std::int32_t minor) {
    BudgetInputs inputs = inputs_of("glm-5.2-nvfp4", device);
    inputs.sharding.tensor = 4;
    inputs.kv = Dtype::fp8;
    VllmBudgetOptions options;
    options.version = {0, minor};
    return vllm_budget(inputs, options).layout.bytes_per_token;
  };
  // A log of 0.26 on four GB200: 50.62 GiB for 1,139,456 tokens. 21 layers have an indexer.
  CHECK(bytes("gb200", 26) == 78 * 576 + 21 * 132);
  CHECK(bytes("gb200", 18) == 78 * 656 + 21 * 132);
  CHECK(bytes("h200-sxm", 26) == 78 * 656 + 21 * 132);
  CHECK(bytes("rtxpro6000-server", 26) == 78 * 656 + 21 * 132);
}

TEST_CASE("from 0.22 a step of Gemma 4 takes its largest video whole") {
  const DeviceSpec& device = catalog().device("rtx4090");
  const ModelSpec gemma = catalog().model("gemma-4-26b-a4b");
  CHECK(vllm_defaults(device, gemma, {0, 21}).max_num_batched_tokens == 2048);
  CHECK(vllm_defaults(device, gemma, {0, 22}).max_num_batched_tokens == 32 * (70 + 2 + 6));
  // Larger defaults stay, and the small Gemma 4 lets no token see a later one.
  CHECK(vllm_defaults(catalog().device("h100-sxm"), gemma, {0, 22}).max_num_batched_tokens == 8192);
  const ModelSpec small = catalog().model("gemma-4-e4b");
  CHECK(vllm_defaults(device, small, {0, 22}).max_num_batched_tokens == 2048);
}

TEST_CASE("from 0.26 a request holds the tokens of all steps under way beside its window") {
  BudgetInputs inputs = inputs_of("gpt-oss-20b", "h100-sxm");
  VllmBudgetOptions options;
  options.max_model_len = 131072;
  options.max_num_batched_tokens = 8192;
  options.async_scheduling = true;
  options.version = {0, 25};
  // 12 full layers and 12 of 128 tokens: 8192 blocks of 16, and 127 + 8192 tokens in one more.
  CHECK(vllm_budget(inputs, options).layout.sequence_blocks(131072, 8192) == 8192 + 520 + 1);
  const MemoryBudget one = vllm_budget(inputs, options);
  CHECK(one.max_concurrency == Approx(static_cast<double>(one.total_blocks) / (8192 + 521)));
  options.version = {0, 26};
  const MemoryBudget two = vllm_budget(inputs, options);
  CHECK(two.max_concurrency == Approx(static_cast<double>(two.total_blocks) / (8192 + 1033)));
  options.async_scheduling = false;
  const MemoryBudget alone = vllm_budget(inputs, options);
  CHECK(alone.max_concurrency == Approx(static_cast<double>(alone.total_blocks) / (8192 + 521)));
}

TEST_CASE("a pass holds the hidden states that its drafter reads") {
  BudgetInputs inputs = inputs_of("llama-3.1-8b", "h100-sxm");
  VllmBudgetOptions options;
  options.max_num_seqs = 1;
  options.max_num_batched_tokens = 65536;
  CHECK(vllm_drafted_states(inputs, options) == 0);
  inputs.drafter = eagle3_head(inputs.model);
  options.draft_method = "eagle3";
  CHECK(vllm_drafted_states(inputs, options) == 3);
  CHECK(vllm_activation_bytes(inputs.model, {}, options, false, 3) -
            vllm_activation_bytes(inputs.model, {}, options) ==
        3 * 65536LL * 4096 * 2);
  inputs.drafter = dflash_head(inputs.model);
  options.draft_method = "dflash";
  CHECK(vllm_drafted_states(inputs, options) == 5);
  options.draft_method = "mtp";
  CHECK(vllm_drafted_states(inputs, options) == 0);
}

TEST_CASE("0.11 and 0.12 hold the outputs of the largest video while layers are profiled") {
  const ModelSpec model = catalog().model("qwen3-vl-30b-a3b");
  VllmBudgetOptions options;
  options.max_num_batched_tokens = 8192;
  options.version = {0, 12};
  // 153,600 + 12,288 tokens of four hidden states, 49,152 patches of 1,536 pixels.
  const ByteCount held = 2 * ((153'600 + 12'288) * 4 * 2048LL + 49'152 * 1536LL);
  CHECK(vllm_held_encoder_bytes(model, options) == held);
  const ByteCount peak = vllm_activation_bytes(model, {}, options);
  options.profile_multimodal = false;
  CHECK(peak - vllm_activation_bytes(model, {}, options) == held - 2LL * 8192 * 2048 * 2);
  options.profile_multimodal = true;
  options.version = {0, 13};
  CHECK(vllm_held_encoder_bytes(model, options) == 0);
  options.version = {0, 12};
  CHECK(vllm_held_encoder_bytes(catalog().model("qwen2.5-vl-7b"), options) == 0);
}

TEST_CASE("features of a step's images have buffers of their own behind three layers") {
  VllmBudgetOptions options;
  options.max_num_batched_tokens = 8192;
  const ModelSpec model = catalog().model("qwen3-vl-30b-a3b");
  CHECK(vllm_model_buffer_bytes(model, {}, 0, options) == 3LL * 8192 * 2048 * 2);
  CHECK(vllm_model_buffer_bytes(model, {.pipeline = 2}, 1, options) == 0);
  CHECK(vllm_model_buffer_bytes(catalog().model("qwen3-32b"), {}, 0, options) == 0);
  // Four streams of DeepSeek V4, on the last stage.
  const ModelSpec v4 = catalog().model("deepseek-v4-flash");
  CHECK(vllm_model_buffer_bytes(v4, {.pipeline = 2}, 0, options) == 0);
  CHECK(vllm_model_buffer_bytes(v4, {.pipeline = 2}, 1, options) == 4LL * 8192 * 4096 * 2);
}

TEST_CASE("sparse attention reserves room for the keys of forty longest sequences") {
  VllmBudgetOptions options;
  options.version = {0, 22};
  options.max_num_batched_tokens = 8192;
  options.max_model_len = 163840;
  const ModelSpec v32 = catalog().model("deepseek-v3.2");
  CHECK(vllm_sparse_workspace_bytes(v32, options) == 40LL * 163840 * 132);
  options.version = {0, 12};
  CHECK(vllm_sparse_workspace_bytes(v32, options) == 0);
  options.version = {0, 22};
  const ModelSpec v4 = catalog().model("deepseek-v4-flash");
  // A key for four tokens, or entries of 512 elements of four sequences with a window of 128.
  CHECK(vllm_sparse_workspace_bytes(v4, options) == 10LL * 163840 * 132);
  options.max_model_len = 8192;
  CHECK(vllm_sparse_workspace_bytes(v4, options) == 4LL * (2048 + 128 + 8192) * 512 * 2);
  CHECK(vllm_sparse_workspace_bytes(catalog().model("llama-3.1-8b"), options) == 0);
  // In the layers' pass the logits come on top: 512 MiB since 0.19.
  options.max_model_len = 1048576;
  const ByteCount with_logits = vllm_activation_bytes(v4, {}, options);
  options.version = {0, 17};
  CHECK(with_logits - vllm_activation_bytes(v4, {}, options) == 512LL << 20);
}

TEST_CASE("an AMD device has 0.66 GiB outside torch") {
  const auto growth = [](EngineVersion version) {
    VllmBudgetOptions options;
    options.version = version;
    return vllm_budget(inputs_of("llama-3.1-8b", "mi300x"), options).terms[MemoryPurpose::context];
  };
  CHECK(growth({0, 14}) == 676LL << 20);
}

TEST_CASE("a pool that leaves little of shared memory starts with a note") {
  BudgetInputs inputs = inputs_of("llama-3.1-8b", "gb10");
  inputs.machine.free_metric = "MemAvailable";
  inputs.machine.slack_bytes = bytes_from_gib(4);
  VllmBudgetOptions options;
  options.gpu_memory_utilization = 0.98;
  const MemoryBudget tight = vllm_budget(inputs, options);
  CHECK_FALSE(tight.failure);
  REQUIRE(tight.notes.size() == 1);
  CHECK_THAT(tight.notes[0], Catch::Contains("free by MemAvailable: the driver may refuse"));
  options.gpu_memory_utilization = 0.9;
  CHECK(vllm_budget(inputs, options).notes.empty());
}

TEST_CASE("Triton's mxfp4 kernels keep scales twice until 0.24 and biases in fp32") {
  // A layer of 32 experts: 5760 x 2880 and 2880 x 2880 with a scale for 32 elements (777,600),
  // ordered in 5888 and 3072 rows (806,400); 2 bytes more for each of 8,640 biases.
  const ModelSpec model = catalog().model("gpt-oss-20b");
  const auto bytes = [&](EngineVersion version, const char* device = "h100-sxm") {
    VllmBudgetOptions options;
    options.version = version;
    return vllm_expert_padding_bytes(model, catalog().device(device), {}, 0, options);
  };
  CHECK(bytes({0, 14}) == 24LL * 32 * (806'400 + 17'280));
  CHECK(bytes({0, 25}) == 24LL * 32 * (806'400 - 777'600 + 17'280));
  // Before 0.12 no wheel brings the kernels: Marlin, +9.04 % of 24 x 32 x 3 x 2880 x 2880 x 4.25
  // bits.
  CHECK(static_cast<double>(bytes({0, 11})) ==
        Approx(0.0904 * 24 * 32 * 3 * 2880 * 2880 * 4.25 / 8).epsilon(0.01));
  // FlashInfer's kernels want as little from 0.27 on.
  CHECK(bytes({0, 27}, "b200") == bytes({0, 11}));
}

TEST_CASE("a DFlash head for a hybrid model keeps windows from 0.25 on") {
  // Logged by 0.27.1 with two RTX 5090, fp8 KV and 15.99 GiB: 2.74 requests of 262,144 tokens.
  // Sixteen layers of attention, five with a window of 2048 and 48 of states in groups of five. A
  // block has 1648 tokens of 1024 bytes: the pool 2034 of five layers each, a request 4 x 160 + 8 +
  // 10 x 9 (the engine counts two batches in flight for windows: 13 instead of 8).
  VllmBudgetOptions options;
  options.version = {0, 27};
  options.max_model_len = 262144;
  options.max_num_batched_tokens = 8192;
  options.draft_tokens = 7;
  options.draft_method = "dflash";
  options.kv_cache_memory_bytes = bytes_from_gib(15.99);
  BudgetInputs inputs = inputs_of("qwen3.5-27b", "rtx5090");
  inputs.model = quantised(inputs.model, Dtype::int4);
  inputs.sharding.tensor = 2;
  inputs.kv = Dtype::fp8;
  inputs.drafter = dflash_head(inputs.model);
  const MemoryBudget budget = vllm_budget(inputs, options);
  CHECK(budget.layout.groups.size() == 4 + 1 + 10);
  CHECK(budget.layout.block_tokens == 1648);
  CHECK(budget.max_concurrency == Approx(2034 / 738.0).epsilon(0.002));
  options.version = {0, 24};
  CHECK(vllm_budget(inputs, options).max_concurrency < 2.4);
}

TEST_CASE("the largest item of Qwen2.5-VL is a video") {
  // Logged by 0.23.0 with 128,000 tokens: one video of 114,688. Five states of 1280 and three inner
  // products of 3420 for each of four patches a token, with 3 x 14 x 14 x 2 pixels: 15.24 GiB, and
  // 15.23 of the log are neither weights nor graphs nor outside torch.
  const ModelSpec model = catalog().model("qwen2.5-vl-7b");
  VllmBudgetOptions options;
  options.version = {0, 23};
  options.max_model_len = 128000;
  CHECK(vllm_encoder_bytes(model, {}, options) == 114'688LL * 4 * (5 * 1280 + 3 * 3420 + 1176) * 2);
  // Shorter requests hold fewer frames, 32,768 tokens two pairs of them.
  options.max_model_len = 32768;
  CHECK(vllm_encoder_bytes(model, {}, options) == 32'768LL * 4 * (5 * 1280 + 3 * 3420 + 1176) * 2);
  // Query and key in fp32 are more than the MLP, and 16 frames were allowed.
  options.version = {0, 10};
  options.max_model_len = 131072;
  CHECK(vllm_encoder_bytes(model, {}, options) == 131'072LL * 4 * (17 * 1280 + 1176) * 2);
}

}  // namespace headroom::vllm_memory_rules_test
