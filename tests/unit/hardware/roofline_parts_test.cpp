#include <catch2/catch.hpp>
#include <cmath>

#include "hardware/catalog.hpp"
#include "hardware/cost/roofline.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::roofline_parts_test {
namespace {

// Data-sheet price of one decode-only step in milliseconds per term.
double term_ms(const ModelSpec& model, const char* device, CostTerm term, std::int64_t rows,
               const RooflineOptions& options) {
  const Catalog catalog = Catalog::embedded();
  const RooflineCost cost(model, catalog.device(device), spec_calibration(EngineMode::async),
                          options);
  StepShape shape;
  shape.decode_rows = shape.sampled_rows = rows;
  shape.decode_context = rows * 1000;
  StepPrice price;
  cost.price(shape, price);
  return static_cast<double>(price.base_terms[term]) / 1048576e6;
}

double term_ms(const char* model, const char* device, CostTerm term, std::int64_t rows,
               const RooflineOptions& options) {
  return term_ms(Catalog::embedded().model(model), device, term, rows, options);
}

}  // namespace

TEST_CASE("a lone token of a mixture-of-experts model reads top_k experts, a large batch all") {
  // Mixtral 8x7B, 2 bytes at 3.35 TB/s. An expert in all layers: 32 * 3 * 4096 * 14336 parameters;
  // attention, router and norms: 46702792704 - 2 * 32000 * 4096 - 8 experts = 1343492096.
  const double expert = 32.0 * 3 * 4096 * 14336 * 2 / 3.35e12 * 1e3;
  const double fixed = (46702792704.0 - 2 * 32000.0 * 4096) * 2 / 3.35e12 * 1e3 - 8 * expert;
  const auto memory = [](std::int64_t rows) {
    return term_ms("mixtral-8x7b", "h100-sxm", CostTerm::linear_memory, rows, {});
  };
  CHECK(memory(1) == Approx(fixed + 2 * expert).epsilon(1e-4));
  // Two tokens: 8 * (1 - 0.75^2) = 3.5 experts.
  CHECK(memory(2) == Approx(fixed + 3.5 * expert).epsilon(1e-4));
  CHECK(memory(60) == Approx(fixed + 8 * expert).epsilon(2e-3));
}

TEST_CASE("tokens that are alike reach fewer experts, a lone one as many as ever") {
  // Mixtral as above, every token but the first worth half a token: two tokens reach
  // 8 (1 - 0.75^1.5) = 2.80385 experts.
  const double expert = 32.0 * 3 * 4096 * 14336 * 2 / 3.35e12 * 1e3;
  const Catalog catalog = Catalog::embedded();
  Calibration row = spec_calibration(EngineMode::async);
  row.expert_reach = 0.5;
  const auto memory = [&](const Calibration& calibration, std::int64_t rows) {
    const RooflineCost cost(catalog.model("mixtral-8x7b"), catalog.device("h100-sxm"), calibration,
                            {});
    StepShape shape;
    shape.decode_rows = shape.sampled_rows = rows;
    StepPrice price;
    cost.price(shape, price);
    return static_cast<double>(price.base_terms[CostTerm::linear_memory]) / 1048576e6;
  };
  const Calibration even = spec_calibration(EngineMode::async);
  CHECK(memory(row, 1) == memory(even, 1));
  CHECK(memory(row, 2) - memory(row, 1) == Approx(0.80385 * expert).epsilon(1e-4));
}

TEST_CASE("recurrent layers multiply the tokens of a prompt with each other and with their state") {
  // Qwen3.5-27B: delta networks in 48 of 64 layers, 48 value heads of 128 with keys of 128. Per
  // token and layer 48 (64 (3 x 128 + 2 x 128) + 3 x 128 x 128) = 4325376 multiply-adds.
  const Catalog catalog = Catalog::embedded();
  ModelSpec model = catalog.model("qwen3.5-27b");
  const auto prefill = [&](const ModelSpec& m) {
    const RooflineCost cost(m, catalog.device("h100-sxm"), spec_calibration(EngineMode::async), {});
    StepShape shape;
    shape.chunk_rows = shape.sampled_rows = 1;
    shape.chunk_tokens = shape.chunk_context = 1000;
    StepPrice price;
    cost.price(shape, price);
    return static_cast<double>(price.base_terms[CostTerm::attention_prefill]) / 1048576e6;
  };
  const double with = prefill(model);
  for (LayerKind& kind : model.kinds) {
    if (kind.recurrent) kind.recurrent->family = RecurrentSpec::Family::short_convolution;
  }
  CHECK(with - prefill(model) == Approx(48 * 4325376.0 * 2 * 1000 / 989.5e12 * 1e3).epsilon(1e-3));
}

TEST_CASE("the output head is read as it is stored") {
  // Llama-3.1-8B: 128256 x 4096 elements at 273 GB/s, 16 bits or 4 bits with 8 per 32.
  ModelSpec model = Catalog::embedded().model("llama-3.1-8b");
  const double elements = 128256.0 * 4096;
  CHECK(term_ms(model, "gb10", CostTerm::head, 1, {}) ==
        Approx(elements * 2 / 273e9 * 1e3).epsilon(1e-3));
  model.head_format = format_of(Dtype::mxfp4);
  CHECK(term_ms(model, "gb10", CostTerm::head, 1, {}) ==
        Approx(elements * 4.25 / 8 / 273e9 * 1e3).epsilon(1e-3));
}

TEST_CASE("experts may cost more than other layers, in time per layer and in arithmetic") {
  // Mixtral on an H100: 32 layers with experts, 7 us each. 2 of 8 experts of 3 x 4096 x 14336
  // parameters per layer and token, at half the rate: as much time again.
  const Catalog catalog = Catalog::embedded();
  Calibration row = spec_calibration(EngineMode::async);
  row.shape = RooflineShape::sum;
  StepShape shape;
  shape.chunk_rows = shape.sampled_rows = 1;
  shape.chunk_tokens = shape.chunk_context = 100;
  const auto ms = [&] {
    StepPrice price;
    RooflineCost(catalog.model("mixtral-8x7b"), catalog.device("h100-sxm"), row, {})
        .price(shape, price);
    return static_cast<double>(price.base) / 1048576e6;
  };
  const double plain = ms();
  row.expert_layer_ns = 7000;
  CHECK(ms() - plain == Approx(32 * 0.007).epsilon(1e-6));
  row.expert_layer_ns = 0;
  row.expert_compute_share = 0.5;
  CHECK(ms() - plain ==
        Approx(2.0 * 100 * 32 * 2 * 3 * 4096 * 14336 / 989.4e12 * 1e3).epsilon(1e-4));
}

TEST_CASE("MLA decode attention is a roofline of latent bytes and absorbed products") {
  // DeepSeek-V3 at TP8 on H200: 16 heads per rank; 1000 tokens: bytes 70272 / 4.8e12, products
  // 61 * 2 * (576 + 512) * 16 FLOP / 989.4e12 per token.
  RooflineOptions options;
  options.parallel.sharding.tensor = 8;
  const double bytes = 1000 * 70272 / 4.8e12 * 1e3;
  const double products = 1000 * 61 * 2.0 * 1088 * 16 / 989.4e12 * 1e3;
  const double expected = std::sqrt(bytes * bytes + products * products);
  CHECK(term_ms("deepseek-v3", "h200-sxm", CostTerm::attention_decode, 1, options) ==
        Approx(expected).epsilon(1e-5));
  // Four ranks of one context: a quarter of its bytes, with the queries of all four.
  options.parallel.sharding.context = 4;
  CHECK(term_ms("deepseek-v3", "h200-sxm", CostTerm::attention_decode, 1, options) ==
        Approx(std::sqrt(bytes * bytes / 16 + products * products)).epsilon(1e-5));
}

TEST_CASE("prompts of latent attention multiply with the latent where an engine absorbs them") {
  // 1,000 tokens of DeepSeek-V3 on one rank: pairs of 128 heads in 61 layers, with 576 + 512
  // elements each for 192 + 128.
  const auto ms = [](bool absorbs) {
    RooflineOptions options;
    options.absorbs_prompts = absorbs;
    StepShape shape;
    shape.chunk_rows = shape.sampled_rows = 1;
    shape.chunk_tokens = shape.chunk_context = 1000;
    shape.chunk_pairs_twice = 1000 * 1001;
    StepPrice price;
    RooflineCost(Catalog::embedded().model("deepseek-v3"), Catalog::embedded().device("h200-sxm"),
                 spec_calibration(EngineMode::async), options)
        .price(shape, price);
    return static_cast<double>(price.base_terms[CostTerm::attention_prefill]) / 1048576e6;
  };
  const double pairs = 500.0 * 1001 * 61 * 128;
  CHECK(ms(true) - ms(false) == Approx(2 * pairs * (1088 - 320) / 989.4e12 * 1e3).epsilon(1e-4));
}

TEST_CASE("fp8 weights halve the bytes and double the rate") {
  const ModelSpec bf16 = Catalog::embedded().model("llama-3.1-70b");
  const ModelSpec fp8 = quantised(bf16, Dtype::fp8);
  const auto ratio = [&](CostTerm term, std::int64_t rows) {
    return term_ms(fp8, "h100-sxm", term, rows, {}) / term_ms(bf16, "h100-sxm", term, rows, {});
  };
  CHECK(ratio(CostTerm::linear_memory, 1) == Approx(0.5).epsilon(1e-3));
  CHECK(ratio(CostTerm::linear_compute, 256) == Approx(0.5).epsilon(1e-3));
  CHECK(ratio(CostTerm::head, 1) == Approx(1.0));  // stays 16-bit
}

TEST_CASE("all-reduces of two ranks over PCIe, by hand") {
  // Qwen3-32B on RTX PRO 6000: 2 * 64 * (20 us + T * 5120 * 2 * 2 * (1/2) / 14.4 GB/s), T = 10.
  const Catalog catalog = Catalog::embedded();
  RooflineOptions options;
  options.parallel.sharding.tensor = 2;
  const RooflineCost cost(catalog.model("qwen3-32b"), catalog.device("rtxpro6000-server"),
                          catalog.calibration("rtxpro6000-server-vllm-async"), options);
  StepShape shape;
  shape.decode_rows = shape.sampled_rows = 10;
  shape.decode_context = 100;
  StepPrice price;
  cost.price(shape, price);
  const double expected = 128 * (20e-6 + 10 * 5120 * 2 / 14.4e9) * 1e3;
  CHECK(static_cast<double>(price.base_terms[CostTerm::communication]) / 1048576e6 ==
        Approx(expected).epsilon(1e-6));
}

TEST_CASE("a step that could not end within 73 minutes is refused") {
  const Catalog catalog = Catalog::embedded();
  RooflineOptions options;
  options.limits = {100'000, 8192, 1'000'000, 0};  // 1e11 context tokens at 446 us per 1000
  const auto build = [&] {
    return RooflineCost(catalog.model("llama-3.1-70b"), catalog.device("h100-sxm"),
                        spec_calibration(EngineMode::async), options);
  };
  CHECK_THROWS_AS(build(), ConfigError);
  options.limits.max_context_tokens = 500'000;  // the KV pool bounds it
  CHECK_NOTHROW(build());
}

TEST_CASE("ranks without a link are refused") {
  const Catalog catalog = Catalog::embedded();
  RooflineOptions options;
  options.parallel.sharding.tensor = 2;
  CHECK_THROWS_AS(RooflineCost(catalog.model("llama-3.1-8b"), catalog.device("m3-ultra"),
                               spec_calibration(EngineMode::async), options),
                  ConfigError);
}

}  // namespace headroom::roofline_parts_test
