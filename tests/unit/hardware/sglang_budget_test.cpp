#include "sim/engines/sglang/budget.hpp"

#include <array>
#include <catch2/catch.hpp>

#include "sim/kernel/errors.hpp"
#include "tests/unit/hardware/budget_models.hpp"

namespace headroom::sglang_budget_test {
namespace {

using namespace budget_test;

constexpr ByteCount kWeights = 16'060'522'496;  // of Llama-3.1-8B in 16 bit
constexpr ByteCount kContext = 551'000'000;
constexpr ByteCount kLoading = 390 * kMib;  // beside the weights, while they are loaded

double fraction_of(double gib, const SglangBudgetOptions& options, const Sharding& sharding = {}) {
  const SglangDefaults defaults = sglang_defaults(device_of(gib), llama31_8b(), {0, 5}, sharding);
  const double mib = gib * 1024;
  return sglang_mem_fraction_static(mib, sglang_reserved_mib(options, defaults, sharding, mib));
}

MemoryBudget llama(double gib, const SglangBudgetOptions& options) {
  return sglang_budget(inputs_of(llama31_8b(), gib), options);
}

}  // namespace

TEST_CASE("the defaults of SGLang follow the device's memory and the tensor ranks") {
  struct Row {
    double gib;
    std::int64_t chunk, graph_bs, graph_bs_wide;
  };
  // ENGINES.md 6.3, one device of each class.
  constexpr std::array<Row, 6> kRows{{{15, 2048, 8, 8},
                                      {24, 2048, 24, 80},
                                      {48, 4096, 32, 160},
                                      {80, 8192, 256, 512},
                                      {140, 8192, 256, 512},
                                      {180, 16384, 512, 512}}};
  for (const Row& row : kRows) {
    INFO(row.gib);
    const DeviceSpec device = device_of(row.gib);
    const SglangDefaults narrow = sglang_defaults(device, llama31_8b(), {0, 5}, {.tensor = 2});
    CHECK(narrow.chunked_prefill_size == row.chunk);
    CHECK(narrow.cuda_graph_max_bs == row.graph_bs);
    CHECK(narrow.max_prefill_tokens == 16384);
    CHECK(narrow.page_size == 1);
    CHECK(sglang_defaults(device, llama31_8b(), {0, 5}, {.tensor = 4}).cuda_graph_max_bs ==
          row.graph_bs_wide);
  }
}

TEST_CASE("the default fraction of SGLang keeps back chunks, graphs and ranks") {
  // ENGINES.md 12.1 vector 8: 512 + 1.5 x 8192 + 2 x 256 + 1024/8 = 13440 MiB of 81920.
  const SglangDefaults defaults = sglang_defaults(device_of(80), llama31_8b(), {0, 5}, {});
  CHECK(sglang_reserved_mib({}, defaults, {}, 81920) == 13440);
  CHECK(fraction_of(80, {}) == 0.836);
  // 24 GiB: 512 + 3072 + 48 + 128 = 3760 of 24576.
  CHECK(fraction_of(24, {}) == 0.847);
  // At least 10 GiB above 60 GiB: 512 + 3072 + 16 + 128 is less.
  const SglangBudgetOptions small{.chunked_prefill_size = 2048, .cuda_graph_max_bs = 8};
  CHECK(fraction_of(80, small) == 0.875);
  CHECK(sglang_mem_fraction_static(0, 13440) == 0.88);  // memory unknown
}

TEST_CASE("SGLang keeps more for data-parallel attention, drafts and piecewise graphs") {
  const Sharding eight{.tensor = 8};
  const SglangDefaults defaults = sglang_defaults(device_of(80), llama31_8b(), {0, 5}, eight);
  // 512 + 12288 + 2 x 512 + 1024, then 3 x 512 x 8 and, above 300, 1.5 x 512 x 8.
  CHECK(sglang_reserved_mib({}, defaults, eight, 81920) == 14848);
  CHECK(sglang_reserved_mib({.enable_dp_attention = true, .dp_size = 8}, defaults, eight, 81920) ==
        14848 + 12288 + 6144);
  const auto one = [](const SglangBudgetOptions& options) {
    return sglang_reserved_mib(options, sglang_defaults(device_of(80), llama31_8b(), {0, 5}, {}),
                               {}, 81920);
  };
  CHECK(one({.piecewise_cuda_graph_sizes = 50}) == 13440 + 400);
  CHECK(one({.speculative_algorithm = SglangSpeculation::eagle}) == 13440 + 2048);
  CHECK(one({.speculative_algorithm = SglangSpeculation::standalone}) == 13440 + 6144);
  CHECK(one({.speculative_algorithm = SglangSpeculation::ngram}) == 13440);
  // Without chunks the largest prefill counts: 512 + 1.5 x 16384 + 512 + 128.
  CHECK(one({.chunked_prefill_size = -1}) == 25728);
}

TEST_CASE("the pool of SGLang is what the weights leave of a share of the memory before them") {
  const MemoryBudget budget = llama(80, {});
  REQUIRE_FALSE(budget.failure);
  const ByteCount before = bytes_from_gib(80) - kContext;
  const auto kept = static_cast<ByteCount>(static_cast<double>(before) * (1 - 0.836));
  const ByteCount kv = before - kWeights - kLoading - kept;
  CHECK(budget.kv_available_bytes == kv);
  CHECK(budget.kv_tokens == kv / 131072);
  CHECK(budget.layout.block_tokens == 1);
  CHECK(budget.max_model_len == 131072);
  CHECK(budget.terms[MemoryPurpose::graphs] == 512LL * 1024 * 1024);  // 2 MiB x 256
  // The table of 2048 requests: 131072 + 4 positions of 4 bytes, beside the context.
  CHECK(budget.terms[MemoryPurpose::context] == kContext + kLoading + 2048LL * 131076 * 4);
  CHECK(budget.terms.sum() == budget.capacity_bytes);
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
  inputs.machine.engine_host_bytes = bytes_from_gib(4);
  CHECK(before - sglang_budget(inputs, options).kv_available_bytes == bytes_from_gib(4));
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

TEST_CASE("warnings and impossible options of SGLang") {
  const BudgetInputs inputs = inputs_of(llama31_8b(), 80);
  CHECK(sglang_budget_warnings(inputs, {}).size() == 1);
  CHECK(sglang_budget_warnings(inputs, {.version = {0, 6}}).size() == 2);
  CHECK(sglang_budget_warnings(inputs, {.version = {0, 4}}).size() == 2);
  CHECK_THROWS_AS(sglang_budget(inputs, {.mem_fraction_static = 1.0}), ConfigError);
  CHECK_THROWS_AS(sglang_budget(inputs, {.chunked_prefill_size = 0}), ConfigError);
  CHECK_THROWS_AS(sglang_budget(inputs, {.page_size = 0}), ConfigError);
  ModelSpec recurrent = hybrid_27b();
  for (LayerKind& kind : recurrent.kinds) kind.attention.reset();
  CHECK_THROWS_AS(sglang_budget(inputs_of(recurrent, 140), {}), ConfigError);
}

}  // namespace headroom::sglang_budget_test
