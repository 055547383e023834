#include "sim/engines/llamacpp/split.hpp"

#include <catch2/catch.hpp>

#include "hardware/catalog.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/engines/llamacpp/ollama_budget.hpp"
#include "sim/kernel/errors.hpp"
#include "tests/unit/hardware/budget_models.hpp"

namespace headroom::llamacpp_budget_test {
namespace {

using namespace budget_test;

constexpr ByteCount kGib = 1024 * kMib;

ModelSpec llama2_7b() {
  return dense_model("llama-2-7b", {32, 4096, 32, 32, 128, 11008, 32000, 4096}, Dtype::fp16);
}

ModelSpec qwen3_4b() {
  ModelSpec m = dense_model("qwen3-4b", {36, 2560, 32, 8, 128, 9728, 151936, 40960});
  m.tie_embeddings = true;
  return m;
}

// One slot with `cells` cells, as -np 1 -c N.
LlamacppBudgetOptions one_slot(std::int64_t cells) { return {.ctx_size = cells, .parallel = 1}; }

double mib(ByteCount bytes) { return static_cast<double>(bytes) / static_cast<double>(kMib); }

ByteCount device_compute(const ModelSpec& model, const LlamacppBudgetOptions& options) {
  return llamacpp_split(inputs_of(model, 80), options, model.layers() + 1).device_compute;
}

StartupFailure failure_of(const MemoryBudget& budget) {
  CHECK(budget.terms.sum() == budget.capacity_bytes);
  REQUIRE(budget.failure);
  return *budget.failure;
}

}  // namespace

TEST_CASE("the KV cache of llama.cpp has the size that its start-up logs print") {
  // "llama_kv_cache: size = 1024.00 MiB (8192 cells, 32 layers, 1/1 seqs)", f16; 544.00 with q8_0
  // (34 bytes per 32 values); a cache of 1024 MiB becomes 288 with q4_0 (18 bytes).
  LlamacppBudgetOptions options = one_slot(8192);
  CHECK(mib(llamacpp_kv_bytes(llama31_8b(), options)) == 1024);
  options.cache_type_k = options.cache_type_v = Dtype::q8_0;
  CHECK(mib(llamacpp_kv_bytes(llama31_8b(), options)) == 544);
  options.cache_type_v = Dtype::fp16;  // keys alone
  CHECK(mib(llamacpp_kv_bytes(llama31_8b(), options)) == 272 + 512);
  options.cache_type_k = options.cache_type_v = Dtype::q4_0;
  CHECK(mib(llamacpp_kv_bytes(llama31_8b(), options)) == 288);
  // Qwen3-4B on an RTX 4090: 144 MiB at -c 1024, 1152 at 8192.
  CHECK(mib(llamacpp_kv_bytes(qwen3_4b(), one_slot(1024))) == 144);
  CHECK(mib(llamacpp_kv_bytes(qwen3_4b(), one_slot(8192))) == 1152);
}

TEST_CASE("slots of llama.cpp divide the cells or share them") {
  // Logs of b10481 with -c 4096: without -np four slots of 4096 on one cache; -np 4 four of 1024,
  // -np 16 of 256; -np 32 of 256 too, since parts are padded: 8192 cells.
  const ModelSpec model = llama2_7b();
  const LlamacppCells shared = llamacpp_cells(model, {.ctx_size = 4096});
  CHECK(shared.slots == 4);
  CHECK(shared.per_sequence == 4096);
  CHECK(shared.total() == 4096);
  const auto parts = [&](std::int64_t slots) {
    return llamacpp_cells(model, {.ctx_size = 4096, .parallel = slots});
  };
  CHECK(parts(4).per_sequence == 1024);
  CHECK(parts(4).total() == 4096);
  CHECK(parts(16).per_sequence == 256);
  CHECK(parts(32).per_sequence == 256);
  CHECK(parts(32).total() == 8192);
  CHECK(llamacpp_cells(model, {.ctx_size = 0, .parallel = 1}).total() == 4096);  // the model's
  CHECK(llamacpp_cells(model, {.ctx_size = 1000, .parallel = 1}).total() == 1024);
  CHECK(llamacpp_cells(model, {.ctx_size = 8192, .parallel = 1}).per_sequence == 4096);
}

TEST_CASE("layers with a window keep a window and a micro batch in llama.cpp") {
  // Gemma-4-E4B at 65536: 544.00 MiB for 4 full layers, 21.25 for 20 layers with a window of 512 in
  // 1024 cells, both q8_0; 2 KV heads, of 512 in the full layers and 256 in the others.
  const Dense d{4, 2560, 8, 2, 512, 10240, 262144, 131072};
  ModelSpec model = dense_model("gemma-4-e4b", d);
  LayerKind window = dense_layer(d, Dtype::bf16);
  window.attention->head_dim = window.attention->v_head_dim = 256;
  window.attention->window_tokens = 512;
  add_layers(model, window, 20);
  LlamacppBudgetOptions options = one_slot(65536);
  options.cache_type_k = options.cache_type_v = Dtype::q8_0;
  CHECK(llamacpp_window_cells(512, llamacpp_cells(model, options), options) == 1024);
  CHECK(mib(llamacpp_kv_bytes(model, options)) == 544 + 21.25);
  options.swa_full = true;
  CHECK(mib(llamacpp_kv_bytes(model, options)) == 544 + 21.25 * 64);
  // Four slots on one cache: 4 x 512 + 512.
  const LlamacppBudgetOptions shared{.ctx_size = 65536};
  CHECK(llamacpp_window_cells(512, llamacpp_cells(model, shared), shared) == 2560);
}

TEST_CASE("recurrent states of llama.cpp are kept in fp32 for every slot") {
  // Qwen3.5-27B: "llama_memory_recurrent: size = 149.62 MiB (1 cells ...)", 448.88 with 3 slots.
  CHECK(mib(llamacpp_state_bytes(hybrid_27b(), one_slot(16384))) == Approx(149.62).margin(0.01));
  CHECK(mib(llamacpp_state_bytes(hybrid_27b(), {.ctx_size = 16384, .parallel = 3})) ==
        Approx(448.88).margin(0.01));
  // 16 attention layers, 16384 cells: "size = 1024.00 MiB (16384 cells, 16 layers)".
  CHECK(mib(llamacpp_kv_bytes(hybrid_27b(), one_slot(16384))) == 1024);
}

TEST_CASE("the compute buffer of llama.cpp has the size that its start-up logs print") {
  // Without flash attention: 560.00 MiB for Llama-3.1-8B at 8192, where the scores are largest;
  // 258.50 at 512 and 2048, where the logits are; 164.00 for Llama-2-7B at 2048.
  const auto buffer = [](const ModelSpec& model, std::int64_t cells) {
    LlamacppBudgetOptions options = one_slot(cells);
    options.version = {0, 9010};
    options.flash_attn = LlamacppFlashAttn::off;
    return mib(device_compute(model, options));
  };
  CHECK(buffer(llama31_8b(), 8192) == Approx(560).margin(0.02));
  CHECK(buffer(llama31_8b(), 2048) == 258.5);
  CHECK(buffer(llama31_8b(), 512) == 258.5);
  CHECK(buffer(llama2_7b(), 2048) == Approx(164).margin(0.02));
  LlamacppBudgetOptions flash = one_slot(8192);
  flash.version = {0, 9010};
  CHECK(mib(device_compute(llama31_8b(), flash)) == 258.5);
  // The host's: 24.01 MiB at 8192, 9.01 at 512 in builds of 2024.
  const BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  const auto host = [&](std::int64_t cells) {
    LlamacppBudgetOptions options = one_slot(cells);
    options.version = {0, 3000};
    return mib(llamacpp_split(inputs, options, 33).host_compute);
  };
  CHECK(host(8192) == 24);
  CHECK(host(512) == 9);
}

TEST_CASE("the host of llama.cpp holds a mask for each cache") {
  // Qwen2.5-14B at 32768 in b7896: 84.01 MiB, 2 x 10 of embeddings and 64 of the mask.
  const Dense d{48, 5120, 40, 8, 128, 13824, 152064, 131072};
  const BudgetInputs inputs = inputs_of(dense_model("qwen2.5-14b", d), 24);
  LlamacppBudgetOptions options = one_slot(32768);
  options.version = {0, 7896};
  CHECK(mib(llamacpp_split(inputs, options, 49).host_compute) == 84);
  options.version = {0, 9650};  // the mask in 16 bits
  CHECK(mib(llamacpp_split(inputs, options, 49).host_compute) == 20 + 32);
}

TEST_CASE("since June 2026 llama.cpp reserves logits for one token of each slot") {
  // SmolVLM 256M with 8192 cells that four slots share: 20.38 and 10.26 MiB logged.
  const Dense d{30, 576, 9, 3, 64, 1536, 49280, 8192};
  const BudgetInputs inputs = inputs_of(dense_model("smolvlm-256m", d), 8);
  LlamacppBudgetOptions options{.ctx_size = 8192};
  options.version = {0, 9650};
  const LlamacppSplit split = llamacpp_split(inputs, options, 31);
  CHECK(mib(split.device_compute) == Approx(20.38).margin(0.005));
  CHECK(mib(split.host_compute) == Approx(10.26).margin(0.01));
  options.version = {0, 9010};
  CHECK(llamacpp_split(inputs, options, 31).device_compute > 512 * (49280 + 576) * 4);
}

TEST_CASE("an image takes a buffer on the device and one on the host of llama.cpp") {
  // Gemma 3: 64 x 64 patches of 14 pixels, 1152 wide, 4304 in the MLP. Logged: 121.25 and 9.19 MiB.
  BudgetInputs inputs = inputs_of(Catalog::embedded().model("gemma-3-4b-it"), 8);
  const LlamacppBudgetOptions options = one_slot(8192);
  const LlamacppSplit with = llamacpp_split(inputs, options, 35);
  inputs.model.vision->family = VisionSpec::Family::qwen;  // images of any size
  const LlamacppSplit without = llamacpp_split(inputs, options, 35);
  CHECK(with.device_compute - without.device_compute == 4096LL * (4304 + 3 * 1152) * 4);
  CHECK(mib(with.device_compute - without.device_compute) == 121.25);
  CHECK(mib(with.host_compute - without.host_compute) == Approx(9.19).margin(0.005));
}

TEST_CASE("all layers of llama.cpp on the device leave the input table on the host") {
  // The Q4_K_M file of Llama-3.1-8B: 281.81 MiB on the host and 4403.49 on the device, in all
  // 4685.30; the table has 4.5 bits.
  BudgetInputs inputs = inputs_of(quantised(llama31_8b(), Dtype::q4_k_m), 24);
  const LlamacppSplit split = llamacpp_split(inputs, one_slot(8192), 33);
  CHECK(mib(split.device_weights + split.host_weights) == Approx(4685.3).epsilon(0.001));
  CHECK(split.host_weights == 128256LL * 4096 * 9 / 16);
  CHECK(split.device_kv == kGib);
  CHECK(split.host_kv == 0);
  const MemoryBudget budget = llamacpp_budget(inputs, one_slot(8192));
  REQUIRE_FALSE(budget.failure);
  CHECK(budget.terms[MemoryPurpose::weights] == split.device_weights);
  CHECK(budget.terms[MemoryPurpose::kv_pool] == kGib);
  // 512 tokens: a 16-bit mask of 8192 cells, 3 x (14336 + 4096) floats.
  CHECK(mib(budget.terms[MemoryPurpose::activations]) == Approx(116).margin(0.02));
  CHECK(budget.kv_tokens == 8192);
  CHECK(budget.max_model_len == 8192);
  CHECK(budget.layout.block_tokens == 1);
  CHECK(budget.terms.sum() == budget.capacity_bytes);
}

TEST_CASE("n_gpu_layers decides how much of llama.cpp is on a discrete device") {
  const BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  constexpr ByteCount kLayer = 218'112'000LL * 2;
  constexpr ByteCount kTable = 525'336'576LL * 2;
  // Nine: the output and eight layers; before the output was counted first: nine layers.
  const LlamacppSplit now = llamacpp_split(inputs, one_slot(8192), 9);
  CHECK(now.device_weights == 8 * kLayer + kTable + 8192);  // the final norm goes along
  CHECK(now.device_kv == 8 * 32 * kMib);
  CHECK(now.host_kv == 24 * 32 * kMib);
  LlamacppBudgetOptions older = one_slot(8192);
  older.version = {0, 7079};
  const LlamacppSplit then = llamacpp_split(inputs, older, 9);
  CHECK(then.device_weights == 9 * kLayer + 8192);
  CHECK(then.host_weights == 2 * kTable + 23 * kLayer + 8192);
  const LlamacppSplit none = llamacpp_split(inputs, one_slot(8192), 0);
  CHECK(none.device() == 0);
  CHECK(none.host_weights == 2 * 8'030'261'248);
  // Of what a step reads: all, the layers that are left, nothing.
  CHECK(none.host_reads.weight_share == 1);
  CHECK(now.host_reads.weight_share ==
        Approx(24.0 * kLayer / (32.0 * kLayer + kTable)).epsilon(1e-4));
  CHECK(llamacpp_split(inputs, one_slot(8192), 33).host_reads.weight_share == 0);
  LlamacppBudgetOptions no_offload = one_slot(8192);
  no_offload.no_kv_offload = true;
  CHECK(llamacpp_split(inputs, no_offload, 33).device_kv == 0);
  CHECK(llamacpp_split(inputs, no_offload, 33).host_kv == kGib);
}

TEST_CASE("an output that stays on the host is copied into the device's compute buffer") {
  // 0.19.0 of Ollama with Qwen2.5-Coder-32B Q4_K_M, 49 of 65 layers: 916.08 MiB, of which 307.00
  // are 512 x (152064 + 5120) numbers in fp32 and 609.08 the output's 152064 x 5120 in 6.5625 bits.
  // Here in 16 bits: 1485 MiB.
  const Dense d{64, 5120, 40, 8, 128, 27648, 152064, 32768};
  BudgetInputs inputs = inputs_of(dense_model("qwen2.5-coder-32b", d), 80);
  LlamacppBudgetOptions options = one_slot(32768);
  options.version = {0, 9010};  // logits of all tokens of a micro batch
  options.output_last = true;
  const LlamacppSplit split = llamacpp_split(inputs, options, 49);
  CHECK(mib(split.device_compute) == Approx(307 + 1485).epsilon(0.01));
  CHECK(split.host_kv == 15 * 128 * kMib);
  // Where the output counts first it is on the device, and what is copied is a matrix of the MLP
  // of a layer on the host at a time: 270 MiB, beside its inner values of 54 each.
  options.output_last = false;
  const double copied = mib(llamacpp_split(inputs, options, 49).device_compute);
  CHECK(copied > 270 + 3 * 54);
  CHECK(copied < 1485);
  CHECK(mib(llamacpp_split(inputs, options, 65).device_compute) < copied);
  options.output_last = true;
  // Logits of one token per slot are computed where the weights are.
  options.version = {0, 9650};
  CHECK(mib(llamacpp_split(inputs, options, 49).device_compute) < copied);
  options.version = {0, 9010};
  // Micro batches below 32 tokens are computed where the weights are.
  options.ubatch_size = 16;
  CHECK(mib(llamacpp_split(inputs, options, 49).device_compute) < 307 / 32.0);
  options.ubatch_size = 512;
  inputs.device.vendor = "apple";
  CHECK(mib(llamacpp_split(inputs, options, 49).device_compute) < 307);
}

TEST_CASE("tied embeddings are copied to the device of llama.cpp for the output") {
  const BudgetInputs inputs = inputs_of(qwen3_4b(), 80);
  const LlamacppSplit split = llamacpp_split(inputs, one_slot(1024), 37);
  const ByteCount table = 151936LL * 2560 * 2;
  CHECK(split.host_weights == table);
  CHECK(split.device_weights == checkpoint_bytes(inputs.model));  // layers, norm and the copy
}

TEST_CASE("llama.cpp lowers an unset context, then the layers, to fit the device") {
  // 24 GiB for 16 GiB of weights: 16 GiB of cache at 131072 do not fit with 1 GiB to spare.
  const BudgetInputs inputs = inputs_of(llama31_8b(), 24);
  const MemoryBudget context = llamacpp_budget(inputs, {.parallel = 1});
  REQUIRE_FALSE(context.failure);
  CHECK(context.kv_tokens % 256 == 0);
  CHECK(context.kv_tokens >= 4096);
  REQUIRE_FALSE(context.notes.empty());
  CHECK(context.notes[0].find("ctx_size lowered from 131072") == 0);
  // What remains is the spare GiB, and less than another 256 cells (32 MiB, and their mask).
  const ByteCount spare = kGib;
  const ByteCount margin = context.terms[MemoryPurpose::margin];
  CHECK(margin >= spare);
  CHECK(margin < spare + 40 * kMib);
  // A given context stays, and layers move to the host.
  const MemoryBudget layers = llamacpp_budget(inputs, one_slot(131072));
  REQUIRE_FALSE(layers.failure);
  CHECK(layers.kv_tokens == 131072);
  REQUIRE(layers.notes.size() == 2);
  CHECK(layers.notes[0].find("of 33 layers on the device") != std::string::npos);
  CHECK(layers.notes[1].find("on the host:") == 0);
  CHECK(layers.terms[MemoryPurpose::kv_pool] == layers.kv_pool_bytes);
  CHECK(layers.kv_pool_bytes + layers.host_kv_bytes == 131072LL * 131072);
}

TEST_CASE("llama.cpp fits layers to what its bare process leaves") {
  // On a T4 the process holds 105 MiB when it asks for the free memory; 1 GiB stays to spare.
  BudgetInputs inputs = inputs_of(llama31_8b(), 24);
  const LlamacppBudgetOptions options = one_slot(8192);
  const ByteCount needed = llamacpp_split(inputs, options, 33).device() + kGib + 105 * kMib;
  const auto notes_with = [&](ByteCount total) {
    inputs.machine.total_bytes = total;
    return llamacpp_budget(inputs, options).notes;
  };
  REQUIRE(notes_with(needed - 1).size() == 2);
  CHECK(notes_with(needed - 1)[0] == "32 of 33 layers on the device");
  REQUIRE(notes_with(needed).size() == 1);
  CHECK(notes_with(needed)[0].find("on the host:") == 0);
}

TEST_CASE("llama.cpp fails in the allocation that does not fit") {
  const auto options_of = [](std::int64_t cells) {
    LlamacppBudgetOptions options = one_slot(cells);
    options.n_gpu_layers = 33;
    return options;
  };
  // 13.98 GiB of weights on the device, 0.10 of context.
  const StartupFailure weights =
      failure_of(llamacpp_budget(inputs_of(llama31_8b(), 14), options_of(8192)));
  CHECK(weights.stage == StartupStage::weights);
  CHECK(weights.message.find("error loading model: unable to allocate") == 0);
  const StartupFailure cache =
      failure_of(llamacpp_budget(inputs_of(llama31_8b(), 16), options_of(32768)));
  CHECK(cache.stage == StartupStage::kv_allocation);
  CHECK(cache.message.find("failed to allocate buffer for kv cache") != std::string::npos);
  CHECK(cache.wanted_bytes == 4 * kGib);
  // 13.98 + 0.10 + 1 of cache leave 0.07 of 15.15 GiB, the buffer takes 0.11.
  const StartupFailure compute =
      failure_of(llamacpp_budget(inputs_of(llama31_8b(), 15.15), options_of(8192)));
  CHECK(compute.stage == StartupStage::warm_up);
  CHECK(compute.message.find("failed to allocate compute pp buffers") != std::string::npos);
  LlamacppBudgetOptions quantised_v = options_of(8192);
  quantised_v.cache_type_v = Dtype::q8_0;
  quantised_v.flash_attn = LlamacppFlashAttn::off;
  const StartupFailure values =
      failure_of(llamacpp_budget(inputs_of(llama31_8b(), 80), quantised_v));
  CHECK(values.stage == StartupStage::kv_allocation);
  CHECK(values.message.find("requires flash_attn") != std::string::npos);
  quantised_v.cache_type_v = Dtype::fp16;
  quantised_v.cache_type_k = Dtype::q8_0;  // keys alone do not need it
  CHECK_FALSE(llamacpp_budget(inputs_of(llama31_8b(), 80), quantised_v).failure);
}

TEST_CASE("mapped weights are page cache on unified memory and need not fit") {
  BudgetInputs inputs = inputs_of(llama31_8b(), 32);
  inputs.device = device_of(32, 0, MemoryModel::unified);
  inputs.device.vendor = "apple";
  const MemoryBudget metal = llamacpp_budget(inputs, one_slot(8192));
  REQUIRE_FALSE(metal.failure);
  CHECK(metal.terms[MemoryPurpose::weights] == 0);
  CHECK(metal.terms[MemoryPurpose::page_cache] == 2 * 8'030'261'248);
  inputs.device.vendor = "nvidia";  // CUDA copies what it offloads
  const MemoryBudget cuda = llamacpp_budget(inputs, one_slot(8192));
  CHECK(cuda.terms[MemoryPurpose::weights] == 2 * (8'030'261'248 - 525'336'576));
  CHECK(cuda.terms[MemoryPurpose::page_cache] == 2 * 525'336'576);
  inputs.machine.others_bytes = bytes_from_gib(20);
  LlamacppBudgetOptions host = one_slot(8192);
  host.n_gpu_layers = 0;
  host.cache_ram_mib = 0;
  const MemoryBudget mapped = llamacpp_budget(inputs, host);
  REQUIRE_FALSE(mapped.failure);
  REQUIRE(mapped.notes.size() == 1);
  CHECK(mapped.notes[0].find("do not fit in memory") != std::string::npos);
  host.no_mmap = true;
  const StartupFailure read = failure_of(llamacpp_budget(inputs, host));
  CHECK(read.stage == StartupStage::host_memory);
  CHECK(read.message.find("unable to allocate CPU buffer") != std::string::npos);
}

TEST_CASE("devices of llama.cpp share layers, and the one with the output decides") {
  BudgetInputs inputs = inputs_of(llama31_8b(), 24);
  inputs.sharding.pipeline = 2;
  const LlamacppSplit first = llamacpp_split(inputs, one_slot(8192), 33, 0);
  const LlamacppSplit last = llamacpp_split(inputs, one_slot(8192), 33, 1);
  // 33 layers, the output one of them: 17 of 16 and the output.
  CHECK(first.device_kv == 17 * kGib / 32);
  CHECK(last.device_kv == 15 * kGib / 32);
  CHECK(last.device_weights - first.device_weights == 2 * 525'336'576LL - 2 * 2 * 218'112'000LL);
  inputs.sharding = {.tensor = 2};
  CHECK_THROWS_AS(llamacpp_budget(inputs, one_slot(8192)), ConfigError);
}

TEST_CASE("the prompt cache of llama.cpp is counted where it is set and memory is shared") {
  BudgetInputs inputs = inputs_of(llama31_8b(), 64);
  inputs.device = device_of(64, 0, MemoryModel::unified);
  inputs.device.vendor = "nvidia";
  LlamacppBudgetOptions options = one_slot(8192);
  options.version = {0, 10481};
  const MemoryBudget unset = llamacpp_budget(inputs, options);
  CHECK(unset.terms[MemoryPurpose::engine_host] == 0);
  CHECK(unset.notes.empty());  // 8 GiB are free
  options.cache_ram_mib = 4096;
  const MemoryBudget set = llamacpp_budget(inputs, options);
  CHECK(set.terms[MemoryPurpose::engine_host] == 4 * kGib);
  CHECK(set.terms.sum() == set.capacity_bytes);
  CHECK(set.kv_tokens == unset.kv_tokens);
  REQUIRE(set.notes.size() == 1);
  CHECK(set.notes[0].find("to 4.00 GiB while the server runs") != std::string::npos);
  // The quarter of a Mac's memory that is no working set takes 3 of 4 GiB.
  BudgetInputs mac = inputs;
  mac.device.vendor = "apple";
  mac.device.memory_nominal_bytes = mac.device.memory_reported_bytes + 3 * kGib;
  CHECK(llamacpp_budget(mac, options).terms[MemoryPurpose::engine_host] == kGib);
  // More than what is free ends no start: all that is free is counted.
  const ByteCount free = unset.terms[MemoryPurpose::margin];
  for (const std::int64_t most : {std::int64_t{-1}, std::int64_t{1} << 20}) {
    options.cache_ram_mib = most;
    const MemoryBudget all = llamacpp_budget(inputs, options);
    CHECK_FALSE(all.failure);
    CHECK(all.terms[MemoryPurpose::engine_host] == free);
    REQUIRE(all.notes.size() == 1);
    CHECK(all.notes[0].find("is the most that fits") != std::string::npos);
  }
  // The default is told where it is too much, from the build on that has it.
  inputs.machine.others_bytes = free - 4 * kGib;
  options.cache_ram_mib.reset();
  CHECK(llamacpp_budget(inputs, options).notes.size() == 1);
  options.version = {0, 6700};
  CHECK(llamacpp_budget(inputs, options).notes.empty());
  // A device of its own memory.
  options.cache_ram_mib = 4096;
  const MemoryBudget own = llamacpp_budget(inputs_of(llama31_8b(), 64), options);
  CHECK(own.terms[MemoryPurpose::engine_host] == 0);
  REQUIRE_FALSE(own.notes.empty());
  CHECK(own.notes.back().find("in the host's memory") != std::string::npos);
}

TEST_CASE("defaults and warnings of llama.cpp follow the build") {
  const DeviceSpec device = device_of(24);
  const LlamacppDefaults now = llamacpp_defaults(device, llama31_8b(), {0, 10481});
  CHECK(now.parallel == 4);
  CHECK(now.kv_unified);
  CHECK_FALSE(now.n_gpu_layers.has_value());
  const LlamacppDefaults b6500 = llamacpp_defaults(device, llama31_8b(), {0, 6500});
  CHECK(b6500.parallel == 1);
  CHECK(b6500.flash_attn == LlamacppFlashAttn::automatic);
  const LlamacppDefaults b5000 = llamacpp_defaults(device, llama31_8b(), {0, 5000});
  CHECK(b5000.flash_attn == LlamacppFlashAttn::off);
  CHECK(b5000.n_gpu_layers == 0);
  CHECK(b5000.ctx_size == 4096);
  const MemoryBudget cpu = llamacpp_budget(inputs_of(llama31_8b(), 24), {.version = {0, 5000}});
  CHECK(cpu.terms[MemoryPurpose::kv_pool] == 0);
  CHECK(cpu.kv_tokens == 4096);
  const BudgetInputs inputs = inputs_of(llama31_8b(), 24);
  CHECK(llamacpp_budget_warnings(inputs, {.n_gpu_layers = 33}).size() == 1);
  CHECK(llamacpp_budget_warnings(inputs, {}).size() == 2);
  CHECK(llamacpp_budget_warnings(inputs, {.version = {0, 99999}}).size() == 3);
}

TEST_CASE(
    "Ollama's context follows version and memory, and is multiplied by the parallel requests") {
  const ModelSpec model = llama31_8b();
  CHECK(ollama_defaults(device_of(24), 1, model, {0, 5}).num_ctx == 2048);
  CHECK(ollama_defaults(device_of(24), 1, model, {0, 9}).num_ctx == 4096);
  CHECK(ollama_defaults(device_of(22.9), 1, model, {0, 16}).num_ctx == 4096);
  CHECK(ollama_defaults(device_of(23.5), 1, model, {0, 16}).num_ctx == 32768);
  CHECK(ollama_defaults(device_of(80), 1, model, {0, 16}).num_ctx == 262144);
  CHECK(ollama_defaults(device_of(24), 1, model, {0, 6}).num_parallel == 4);
  CHECK(ollama_defaults(device_of(24), 1, model, {0, 9}).num_parallel == 2);
  CHECK(ollama_defaults(device_of(24), 1, model, {0, 10}).num_parallel == 1);
  // Issue 6927: num_ctx 4096 on 0.3.3 shows as n_ctx 16384.
  const BudgetInputs inputs = inputs_of(model, 80);
  const MemoryBudget four = ollama_budget(inputs, {.version = {0, 3}, .num_ctx = 4096});
  REQUIRE_FALSE(four.failure);
  CHECK(four.kv_tokens == 16384);
  CHECK(four.max_model_len == 4096);
  CHECK(four.max_concurrency == 4.0);
  CHECK(four.terms.sum() == four.capacity_bytes);
  const OllamaRunner long_context = ollama_runner(inputs, {.num_ctx = 200'000});
  CHECK(long_context.options.ctx_size == 131072);
  REQUIRE(long_context.notes.size() == 1);
}

TEST_CASE("Ollama drops a quantised cache without flash attention") {
  const BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  OllamaBudgetOptions options{.num_ctx = 8192, .kv_cache_type = Dtype::q8_0};
  CHECK(ollama_budget(inputs, options).kv_pool_bytes == 544 * kMib);
  options.flash_attention = false;
  const MemoryBudget f16 = ollama_budget(inputs, options);
  CHECK(f16.kv_pool_bytes == kGib);
  REQUIRE_FALSE(f16.notes.empty());
  CHECK(f16.notes[0].find("f16 is used") != std::string::npos);
  CHECK(ollama_budget_warnings(inputs, {.version = {0, 5}}).size() == 2);
  CHECK_THROWS_AS(ollama_budget(inputs, {.num_ctx = 0}), ConfigError);
}

}  // namespace headroom::llamacpp_budget_test
