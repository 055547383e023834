// Which layers llama.cpp and Ollama put on which device.

#include <catch2/catch.hpp>

#include "hardware/catalog.hpp"
#include "sim/engines/llamacpp/fit.hpp"
#include "sim/engines/llamacpp/ollama_budget.hpp"
#include "tests/unit/hardware/budget_models.hpp"

namespace headroom::llamacpp_placement_test {
namespace {

using namespace budget_test;

constexpr ByteCount kGib = 1024 * kMib;

// llama-3.1-8b in 16 bits on devices with `gib` each.
BudgetInputs devices_of(std::int64_t count, double gib) {
  BudgetInputs inputs = inputs_of(llama31_8b(), gib);
  inputs.sharding.pipeline = count;
  return inputs;
}

BudgetInputs gpt_oss_on(std::int64_t count) {
  BudgetInputs inputs = inputs_of(as_mxfp4_gguf(Catalog::embedded().model("gpt-oss-120b")), 23.52);
  inputs.sharding.pipeline = count;
  return inputs;
}

LlamacppBudgetOptions one_slot(std::int64_t cells) { return {.ctx_size = cells, .parallel = 1}; }

// Layers of each device; the output counts as one.
std::vector<std::int64_t> counts(const LlamacppPlacement& placement) {
  std::vector<std::int64_t> layers;
  for (const LlamacppPlacement::Device& one : placement.devices) {
    layers.push_back(static_cast<std::int64_t>(one.last - one.first) + (one.output ? 1 : 0));
  }
  return layers;
}

std::int64_t moved(const LlamacppPlacement& placement) {
  return std::ranges::count(placement.host_experts, true);
}

ByteCount held(const BudgetInputs& inputs, const LlamacppFit& fit, std::int64_t device) {
  return llamacpp_split(inputs, fit.options, fit.placement, device).device();
}

using Counts = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("llama.cpp deals out layers as its logs show", "[llamacpp_placement]") {
  // b2824, Llama-3-8B on four RTX 4090: KV of 288, 256, 256 and 224 MiB at 32 each, all 33 layers;
  // on two 544 and 480.
  LlamacppBudgetOptions options = one_slot(8192);
  options.version = {0, 2824};
  const auto even = [&](std::int64_t devices, std::int64_t layers) {
    return counts(llamacpp_even_placement(devices_of(devices, 24), options, layers));
  };
  CHECK(even(4, 33) == Counts{9, 8, 8, 8});
  CHECK(even(2, 33) == Counts{17, 16});
  CHECK(even(2, 9) == Counts{5, 4});  // the output is the host's
  CHECK_FALSE(llamacpp_even_placement(devices_of(2, 24), options, 9).has_output());
  options.version = {0, 10481};
  CHECK(even(2, 9) == Counts{5, 4});  // and here the last device's
  CHECK(llamacpp_even_placement(devices_of(2, 24), options, 9).devices[1].output);
  CHECK(even(2, 1) == Counts{1, 0});
  CHECK(even(2, 0) == Counts{0, 0});
}

TEST_CASE("a model that no device holds fills all of them", "[llamacpp_placement]") {
  // 16-bit weights of 14.96 GiB without the table: a layer has 416 MiB, 32 more of KV.
  const LlamacppBudgetOptions options = one_slot(8192);
  const LlamacppFit one = llamacpp_fit(devices_of(1, 6), options);
  const LlamacppFit two = llamacpp_fit(devices_of(2, 6), options);
  const LlamacppFit three = llamacpp_fit(devices_of(3, 6), options);
  CHECK(one.placement.gpu_layers() > 5);
  CHECK(two.placement.gpu_layers() >= 2 * one.placement.gpu_layers());
  CHECK(three.placement.gpu_layers() > two.placement.gpu_layers());
  CHECK(two.placement.used_devices() == 2);
  // 1 GiB and the bare process are left on each, and no more than a layer beside them.
  const BudgetInputs inputs = devices_of(2, 6);
  const ByteCount room = 5 * kGib - 105 * kMib;
  for (const std::int64_t device : {0, 1}) {
    CHECK(held(inputs, two, device) <= room);
    CHECK(held(inputs, two, device) > room - 500 * kMib);
  }
  const LlamacppSplit split = llamacpp_split(inputs, two.options, two.placement, 0);
  CHECK(split.host_weights > 0);
  CHECK(split.host_kv == (33 - two.placement.gpu_layers()) * 32 * kMib);
  REQUIRE(two.notes.size() == 2);
  CHECK(two.notes[0].find(" of 33 layers on 2 devices") != std::string::npos);
  CHECK(two.notes[1].find("weights, KV and buffers of the devices: ") == 0);
}

TEST_CASE("a device of llama.cpp is charged its own part of the cache", "[llamacpp_placement]") {
  // 17 of 32 layers, 32 MiB each.
  const BudgetInputs inputs = devices_of(2, 24);
  const MemoryBudget budget = llamacpp_budget(inputs, one_slot(8192));
  REQUIRE_FALSE(budget.failure);
  CHECK(budget.kv_tokens == 8192);
  CHECK(budget.kv_pool_bytes == budget.terms[MemoryPurpose::kv_pool]);
  CHECK(budget.kv_pool_bytes == 8192 * budget.layout.block_bytes);
  const bool is_first = budget.kv_pool_bytes == 17 * 32 * kMib;
  const bool is_last = budget.kv_pool_bytes == 15 * 32 * kMib;
  CHECK((is_first || is_last));
  CHECK(budget.host_kv_bytes == 0);
  // The fullest: neither has less left.
  const LlamacppFit fit = llamacpp_fit(inputs, one_slot(8192));
  const ByteCount fullest = std::max(held(inputs, fit, 0), held(inputs, fit, 1));
  CHECK(fullest == budget.terms[MemoryPurpose::weights] + budget.terms[MemoryPurpose::kv_pool] +
                       budget.terms[MemoryPurpose::activations]);
  // On the host alone it is no device's.
  LlamacppBudgetOptions none = one_slot(8192);
  none.n_gpu_layers = 0;
  const MemoryBudget host = llamacpp_budget(inputs, none);
  CHECK(host.terms[MemoryPurpose::kv_pool] == 0);
  CHECK(host.host_kv_bytes == kGib);
}

TEST_CASE("since December 2025 llama.cpp leaves experts on the host before layers",
          "[llamacpp_placement]") {
  const LlamacppBudgetOptions options = one_slot(32768);
  const BudgetInputs inputs = gpt_oss_on(1);
  const LlamacppFit one = llamacpp_fit(inputs, options);
  const LlamacppFit two = llamacpp_fit(gpt_oss_on(2), options);
  const LlamacppFit three = llamacpp_fit(gpt_oss_on(3), options);
  CHECK(one.placement.gpu_layers() == 37);
  CHECK(two.placement.gpu_layers() == 37);
  CHECK(moved(one.placement) > moved(two.placement));
  CHECK(moved(two.placement) > 0);
  CHECK(moved(three.placement) == 0);
  // The host's are the last ones, and one more on the device would not fit.
  CHECK(one.placement.host_experts.back());
  CHECK_FALSE(one.placement.host_experts.front());
  const ByteCount room = llamacpp_free_bytes(inputs) - 105 * kMib - kGib;
  CHECK(held(inputs, one, 0) <= room);
  LlamacppFit fuller = one;
  *std::ranges::find(fuller.placement.host_experts, true) = false;
  CHECK(held(inputs, fuller, 0) > room);
  // A token reaches 4 of 128 experts, and all else is read on the device.
  const HostReads reads = llamacpp_split(inputs, one.options, one.placement, 0).host_reads;
  CHECK(reads.always == 0);
  CHECK(reads.head == 0);
  CHECK(reads.experts > 30 * kGib);
  CHECK(reads.weight_share < 0.5);
}

TEST_CASE("builds before the fit put all layers on the devices", "[llamacpp_placement]") {
  LlamacppBudgetOptions options = one_slot(8192);
  options.version = {0, 6800};
  CHECK(llamacpp_fit(devices_of(2, 6), options).placement.gpu_layers() == 33);
  CHECK(llamacpp_budget(devices_of(2, 6), options).failure);
  options.version = {0, 7772};
  CHECK(llamacpp_fit(devices_of(2, 6), options).placement.gpu_layers() < 33);
}

TEST_CASE("n_cpu_moe moves the experts of the first layers to the host", "[llamacpp_placement]") {
  const BudgetInputs inputs = gpt_oss_on(1);
  LlamacppBudgetOptions options = one_slot(8192);
  options.n_gpu_layers = 99;
  const LlamacppSplit all = llamacpp_split(inputs, options, 37);
  options.n_cpu_moe = 10;
  const LlamacppSplit ten = llamacpp_split(inputs, options, 37);
  options.n_cpu_moe = 999;
  const LlamacppSplit none = llamacpp_split(inputs, options, 37);
  // 36 layers alike.
  const ByteCount moved_of_ten = all.device_weights - ten.device_weights;
  CHECK(moved_of_ten > 10 * kGib);
  CHECK((all.device_weights - none.device_weights) * 10 == moved_of_ten * 36);
  CHECK(ten.host_weights - all.host_weights == moved_of_ten);
  CHECK(ten.host_reads.experts == moved_of_ten);
  CHECK(ten.device_kv == all.device_kv);
  // A prompt's products run on the device, which copies one matrix of 128 experts for them.
  CHECK(ten.device_compute > all.device_compute + 128LL * 2880 * 2880 / 2);
}

TEST_CASE("an unset context goes down until several devices hold all layers",
          "[llamacpp_placement]") {
  // 131,072 tokens are 16 GiB of cache beside 14.96 GiB of weights.
  const LlamacppFit fit = llamacpp_fit(devices_of(2, 14), {.parallel = 1});
  CHECK(fit.placement.gpu_layers() == 33);
  REQUIRE(fit.options.ctx_size);
  CHECK(*fit.options.ctx_size % 256 == 0);
  CHECK(*fit.options.ctx_size > 32768);
  CHECK(*fit.options.ctx_size < 131072);
  CHECK(fit.notes[0].find("to fit the devices") != std::string::npos);
}

TEST_CASE("Ollama's own runner fills whole layers on as few devices as hold all",
          "[llamacpp_placement]") {
  const auto placed = [](const BudgetInputs& inputs, EngineVersion version) {
    const OllamaRunner runner =
        ollama_runner(inputs, {.version = version, .num_ctx = 8192, .num_parallel = 1});
    return llamacpp_fit(inputs, runner.options).placement;
  };
  const LlamacppPlacement one = placed(gpt_oss_on(1), {0, 24});
  const LlamacppPlacement two = placed(gpt_oss_on(2), {0, 24});
  CHECK(moved(one) == 0);
  CHECK(moved(two) == 0);
  CHECK(two.gpu_layers() > one.gpu_layers() + 8);
  CHECK_FALSE(two.has_output());
  CHECK(placed(gpt_oss_on(3), {0, 24}).gpu_layers() == 37);
  // What fits one device leaves the others alone, with llama-server up to 80 % of it.
  for (const EngineVersion version : {EngineVersion{0, 24}, EngineVersion{0, 34}}) {
    CHECK(counts(placed(devices_of(2, 24), version)) == Counts{33, 0});
    CHECK(counts(placed(devices_of(2, 12), version)) == Counts{17, 16});
  }
  CHECK(counts(placed(devices_of(2, 20), {0, 24})) == Counts{33, 0});
  CHECK(counts(placed(devices_of(2, 20), {0, 34})) == Counts{17, 16});
}

TEST_CASE("Ollama's context follows the memory of all devices", "[llamacpp_placement]") {
  const ModelSpec model = llama31_8b();
  const DeviceSpec rtx4090 = device_of(23.52);
  CHECK(ollama_defaults(rtx4090, 1, model, {0, 34}).num_ctx == 32768);
  CHECK(ollama_defaults(rtx4090, 2, model, {0, 34}).num_ctx == 262144);  // 47.04 GiB
  CHECK(ollama_defaults(device_of(11.5), 2, model, {0, 34}).num_ctx == 32768);
  CHECK(ollama_defaults(rtx4090, 2, model, {0, 15}).num_ctx == 4096);
  // gpt-oss: 8192 with 20 GiB together, from 0.11 to the tiers.
  const ModelSpec gpt_oss = Catalog::embedded().model("gpt-oss-20b");
  CHECK(ollama_defaults(device_of(11.5), 1, gpt_oss, {0, 12}).num_ctx == 4096);
  CHECK(ollama_defaults(device_of(11.5), 2, gpt_oss, {0, 12}).num_ctx == 8192);
  CHECK(ollama_defaults(rtx4090, 1, gpt_oss, {0, 10}).num_ctx == 4096);
}

}  // namespace headroom::llamacpp_placement_test
