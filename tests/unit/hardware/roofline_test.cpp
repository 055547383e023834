#include "hardware/cost/roofline.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "hardware/catalog.hpp"
#include "sim/engines/vllm/capture_sizes.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::roofline_test {
namespace {

const Catalog& catalog() {
  static const Catalog instance = Catalog::embedded();
  return instance;
}

double ms(Ticks ticks) { return static_cast<double>(ticks) / 1048576e6; }

StepShape decode(std::int64_t rows, TokenCount context_each) {
  StepShape shape;
  shape.decode_rows = rows;
  shape.decode_context = rows * context_each;
  shape.sampled_rows = rows;
  return shape;
}

StepPrice price_of(const StepCost& cost, const StepShape& shape) {
  StepPrice price;
  cost.price(shape, price);
  return price;
}

RooflineCost make(const char* model, const char* device, const Calibration& calibration,
                  RooflineOptions options = {}) {
  if (options.limits.max_step_tokens == 2048) options.limits = {256, 8192, 32768, 0};
  return RooflineCost(catalog().model(model), catalog().device(device), calibration, options);
}

StepShape random_shape(std::mt19937_64& bits, bool with_chunks) {
  StepShape shape = decode(static_cast<std::int64_t>(bits() % 200 + 1),
                           static_cast<std::int64_t>(bits() % 5000 + 1));
  if (!with_chunks) return shape;
  const auto tokens = static_cast<std::int64_t>(bits() % 2000 + 1);
  const auto before = static_cast<std::int64_t>(bits() % 3000);
  shape.chunk_rows = 1;
  shape.chunk_tokens = tokens;
  shape.chunk_context = before + tokens;
  shape.chunk_pairs_twice = tokens * (2 * before + tokens);
  shape.sampled_rows += static_cast<std::int64_t>(bits() % 2);
  return shape;
}

}  // namespace

TEST_CASE("at data-sheet rates one decode step of Llama-3.1-8B reads its weights in 4.481 ms") {
  // 15009849344 bytes of layers and head at 3.35 TB/s (VERIFICATION V1); the products of one row
  // add less than 1e-4 of that.
  const RooflineCost cost = make("llama-3.1-8b", "h100-sxm", spec_calibration(EngineMode::async));
  const StepPrice price = price_of(cost, decode(1, 1));
  const CostTerms& t = price.base_terms;
  const Ticks weights =
      t[CostTerm::linear_memory] + t[CostTerm::linear_compute] + t[CostTerm::head];
  CHECK(ms(weights) == Approx(4.4806).epsilon(1e-4));
}

TEST_CASE("a decode step of Llama-3.1-8B on H100 with generic constants, by hand") {
  // 16 rows of 1000 tokens; BW 3350 GB/s, PEAK 989.4 TFLOP/s; eb .83, ec .70, ekv .88.
  const RooflineCost cost =
      make("llama-3.1-8b", "h100-sxm", catalog().calibration("generic-async-hopper"));
  const StepPrice price = price_of(cost, decode(16, 1000));
  const CostTerms& t = price.base_terms;
  // a = 13959176192 B / 2780.5 GB/s = 5.020383 ms; b = 2 * 6979588096 * 16 / 692.58 TFLOP/s
  //   = 0.322483 ms; sqrt(a^2 + b^2) = 5.030730 ms, of which a^2 / (a^2 + b^2) = 0.995891.
  CHECK(ms(t[CostTerm::linear_memory] + t[CostTerm::linear_compute]) ==
        Approx(5.030730).epsilon(1e-6));
  CHECK(ms(t[CostTerm::linear_memory]) == Approx(5.010057).epsilon(1e-5));
  // 12 us * 32 + 16 * 5636096 B / 4020 GB/s: elem = 2 * 32 * (3 * 14336 + 6 * 4096 + 4 * 40 * 128).
  CHECK(ms(t[CostTerm::elementwise]) == Approx(0.384 + 0.0224322).epsilon(1e-5));
  // 8 us * 32 + 0.12 us * 32 * 16 + 16000 * 131072 B / 2948 GB/s.
  CHECK(ms(t[CostTerm::attention_decode]) == Approx(0.256 + 0.06144 + 0.7113813).epsilon(1e-6));
  // sqrt((4096 * 128256 * 2 / 2780.5e9)^2 + (2 * 525336576 * 16 / 692.58e12)^2) = 0.378651 ms,
  // + 25 us + 16 * 2.4 * 128256 * 4 / 3350e9.
  CHECK(ms(t[CostTerm::head]) == Approx(0.378651 + 0.025 + 0.0058806).epsilon(1e-5));
  CHECK(ms(t[CostTerm::step_overhead]) == Approx(0.9));
  CHECK(t[CostTerm::communication] == 0);
  CHECK(t[CostTerm::host] == 0);
  CHECK(price.slope == 16 * cost.decode_context_ticks());
}

TEST_CASE("a prompt's attention counts its query-key pairs") {
  // 1000 tokens after 2000: q (ctx + q/2) = 2.5e6 pairs; 4 * 32 * 128 * 32 FLOP each at half of
  // 989.4 TFLOP/s = 2.649525 ms; 3000 tokens of KV: 3000 * 131072 / 2948e9 = 0.133384 ms; floor
  // 0.256.
  const RooflineCost cost =
      make("llama-3.1-8b", "h100-sxm", catalog().calibration("generic-async-hopper"));
  StepShape shape;
  shape.chunk_rows = 1;
  shape.chunk_tokens = 1000;
  shape.chunk_context = 3000;
  shape.chunk_pairs_twice = 1000 * (2 * 2000 + 1000);
  const StepPrice price = price_of(cost, shape);
  CHECK(ms(price.base_terms[CostTerm::attention_prefill]) ==
        Approx(2.649525 + 0.133384 + 0.256).epsilon(1e-5));
  CHECK(price.slope == 0);
}

TEST_CASE("layers with a window read and multiply within it") {
  // gpt-oss-20b: 24 layers, every other one sees 128 tokens; 2 * 8 * 64 * 2 = 2048 B of KV per
  // token and layer, so 24576 B for each twelve.
  const RooflineCost cost =
      make("gpt-oss-20b", "h100-sxm", catalog().calibration("generic-async-hopper"));
  const auto attention = [](const StepPrice& price) {
    return ms(price.base_terms[CostTerm::attention_decode] +
              price.base_terms[CostTerm::attention_prefill]);
  };
  // 8 us * 24 + 0.12 us * 24 * 16, and (16 * 1000 + 16 * 128) * 24576 B / 2948 GB/s.
  CHECK(attention(price_of(cost, decode(16, 1000))) ==
        Approx(0.192 + 0.04608 + 0.1504574).epsilon(1e-5));
  // All within the window: both halves grow, in the 28 steps of 100 to 127 tokens.
  const StepPrice within = price_of(cost, decode(16, 100));
  CHECK(within.valid_steps == 28);
  CHECK(price_of(cost, decode(16, 127)).slope == within.slope);
  CHECK(price_of(cost, decode(16, 128)).slope == within.slope / 2);
  CHECK(within.slope == 2 * price_of(cost, decode(16, 200)).slope);
  // 1000 tokens after 2000: 2.5e6 pairs in twelve layers, 1000 * 128 in the others, of
  // 4 * 64 * 64 * 12 FLOP at half of 989.4 TFLOP/s; KV of 3000 and of 128 + 1000 tokens.
  StepShape shape;
  shape.chunk_rows = 1;
  shape.chunk_tokens = 1000;
  shape.chunk_context = 3000;
  shape.chunk_pairs_twice = 1000 * (2 * 2000 + 1000);
  CHECK(attention(price_of(cost, shape)) == Approx(0.192 + 1.0444516 + 0.0344131).epsilon(1e-5));
  // Two prompts from their start: 128 tokens each see all before them, 872 the window.
  shape.chunk_rows = 2;
  shape.chunk_tokens = shape.chunk_context = 2000;
  shape.chunk_pairs_twice = 2 * 1000 * 1000;
  const double pairs = 1e6 + 2 * (128 * 128 / 2.0 + 872 * 128);
  CHECK(attention(price_of(cost, shape)) ==
        Approx(0.192 + pairs * 4 * 64 * 64 * 12 / 494.7e12 * 1e3 + 4000 * 24576 / 2948e9 * 1e3)
            .epsilon(1e-5));
}

TEST_CASE("the terms of every price add up to it exactly") {
  std::mt19937_64 bits(7);
  for (const char* model :
       {"llama-3.1-8b", "mixtral-8x7b", "deepseek-v2-lite", "opt-13b", "gpt-oss-20b"}) {
    for (const char* id : {"generic-sync-other", "generic-async-other", "rtx4090-vllm-async"}) {
      RooflineOptions options;
      options.capture_sizes = vllm_capture_sizes(256, 8192);
      const RooflineCost cost = make(model, "rtx4090", catalog().calibration(id), options);
      for (int i = 0; i < 200; ++i) {
        const StepPrice price = price_of(cost, random_shape(bits, i % 2 == 0));
        REQUIRE(price.base_terms.sum() == price.base);
        REQUIRE(price.slope_terms.sum() == price.slope);
        REQUIRE(price.base > 0);
      }
    }
  }
}

TEST_CASE("the price is affine in the step while every sequence grows by a token") {
  // Without and with windows, at whose ends a price ends.
  const auto* const model = GENERATE("llama-3.1-8b", "gpt-oss-20b", "gemma-3-27b");
  std::mt19937_64 bits(11);
  Calibration hidden_host = catalog().calibration("generic-async-other");
  hidden_host.host_step_ns = 40e6;  // so that some steps wait for the host
  const RooflineCost cost = make(model, "rtx4090", hidden_host);
  for (int n = 0; n < 500; ++n) {
    StepShape shape = random_shape(bits, false);
    const StepPrice first = price_of(cost, shape);
    const StepCount longest = first.valid_steps < 3000 ? first.valid_steps : 3000;
    for (const StepCount i : {StepCount{1}, longest / 2, longest - 1}) {
      if (i < 1 || i >= first.valid_steps) continue;
      StepShape later = shape;
      later.decode_context += i * shape.decode_rows;
      const StepPrice price = price_of(cost, later);
      REQUIRE(price.base == first.base + i * first.slope);
      for (std::size_t t = 0; t < kCostTermCount; ++t) {
        const auto term = static_cast<CostTerm>(t);
        REQUIRE(price.base_terms[term] == first.base_terms[term] + i * first.slope_terms[term]);
      }
    }
  }
}

TEST_CASE("an asynchronous engine takes the longer of device and host") {
  Calibration with_host = catalog().calibration("generic-async-hopper");
  const RooflineCost device_only = make("llama-3.1-8b", "h100-sxm", with_host);
  const StepShape shape = decode(64, 1000);
  const StepPrice device = price_of(device_only, shape);
  // Host 10 ticks above the device after 100 more steps.
  const Ticks at_knee = device.base + 100 * device.slope + 10;
  with_host.host_step_ns = static_cast<double>(at_knee) / 1048576.0;
  const StepPrice price = price_of(make("llama-3.1-8b", "h100-sxm", with_host), shape);

  CHECK(price.base == at_knee);
  CHECK(price.slope == 0);
  CHECK(price.base_terms[CostTerm::host] == at_knee - device.base);
  CHECK(price.slope_terms[CostTerm::host] == -device.slope);
  CHECK(price.valid_steps == 101);  // steps 0 .. 100 wait for the host
  StepShape after = shape;
  after.decode_context += 101 * shape.decode_rows;
  const StepPrice beyond = price_of(make("llama-3.1-8b", "h100-sxm", with_host), after);
  CHECK(beyond.base_terms[CostTerm::host] == 0);
  CHECK(beyond.base == device.base + 101 * device.slope);
  CHECK(beyond.valid_steps == kManySteps);
}

TEST_CASE("a synchronous engine adds its host time") {
  // 2.3 ms + 18 us * 10 rows.
  const RooflineCost cost =
      make("llama-3.1-8b", "h100-sxm", catalog().calibration("generic-sync-hopper"));
  const StepPrice price = price_of(cost, decode(10, 100));
  CHECK(ms(price.base_terms[CostTerm::host]) == Approx(2.48));
  CHECK(price.base_terms[CostTerm::step_overhead] == 0);
}

TEST_CASE("decode attention takes mix times longer beside a prompt") {
  const RooflineCost cost =
      make("llama-3.1-8b", "rtx4090", catalog().calibration("rtx4090-vllm-async"));
  StepShape mixed = decode(10, 500);
  const StepPrice alone = price_of(cost, mixed);
  mixed.chunk_rows = 1;
  mixed.chunk_tokens = mixed.chunk_context = 1;
  mixed.chunk_pairs_twice = 1;
  const StepPrice both = price_of(cost, mixed);
  const double ratio = ms(both.base_terms[CostTerm::attention_decode]) /
                       ms(alone.base_terms[CostTerm::attention_decode]);
  CHECK(ratio == Approx(2.1).epsilon(1e-6));
}

TEST_CASE("more rows, context or tokens never cost less") {
  std::mt19937_64 bits(13);
  RooflineOptions options;
  options.capture_sizes = vllm_capture_sizes(256, 8192);
  for (const char* model : {"llama-3.1-8b", "deepseek-v2-lite"}) {
    const RooflineCost cost =
        make(model, "h100-sxm", catalog().calibration("generic-async-hopper"), options);
    for (int i = 0; i < 300; ++i) {
      const StepShape shape = random_shape(bits, i % 2 == 0);
      const Ticks base = price_of(cost, shape).base;
      StepShape more_rows = shape;
      ++more_rows.decode_rows;
      StepShape more_context = shape;
      ++more_context.decode_context;
      REQUIRE(price_of(cost, more_rows).base >= base);
      REQUIRE(price_of(cost, more_context).base > base);
      if (shape.chunk_rows == 0) continue;
      StepShape more_tokens = shape;
      ++more_tokens.chunk_tokens;
      REQUIRE(price_of(cost, more_tokens).base > base);
    }
  }
}

TEST_CASE("shapes beyond the tables get the same bits") {
  std::mt19937_64 bits(17);
  RooflineOptions small;
  small.limits = {4, 64, 32768, 0};
  for (const char* model : {"llama-3.1-8b", "mixtral-8x7b"}) {
    const Calibration& generic = catalog().calibration("generic-async-hopper");
    const RooflineCost tabulated = make(model, "h100-sxm", generic);
    const RooflineCost computed = make(model, "h100-sxm", generic, small);
    for (int i = 0; i < 200; ++i) {
      const StepShape shape = random_shape(bits, i % 2 == 0);
      REQUIRE(price_of(tabulated, shape).base_terms.ticks ==
              price_of(computed, shape).base_terms.ticks);
      REQUIRE(price_of(tabulated, shape).base == price_of(computed, shape).base);
    }
  }
}

TEST_CASE("decode batches are padded to the captured size for matrix products only") {
  RooflineOptions padded;
  padded.capture_sizes = vllm_capture_sizes(256, 8192);
  const Calibration& generic = catalog().calibration("generic-async-hopper");
  const RooflineCost with = make("llama-3.1-8b", "h100-sxm", generic, padded);
  const RooflineCost without = make("llama-3.1-8b", "h100-sxm", generic);
  const CostTerms at17 = price_of(with, decode(17, 100)).base_terms;
  const CostTerms at24 = price_of(without, decode(24, 100)).base_terms;  // next size after 17
  CHECK(at17[CostTerm::linear_memory] == at24[CostTerm::linear_memory]);
  CHECK(at17[CostTerm::linear_compute] == at24[CostTerm::linear_compute]);
  CHECK(at17[CostTerm::elementwise] < at24[CostTerm::elementwise]);
}

}  // namespace headroom::roofline_test
