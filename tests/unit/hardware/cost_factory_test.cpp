#include "hardware/cost/factory.hpp"

#include <catch2/catch.hpp>

#include "hardware/llm/model_spec.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/time.hpp"

namespace headroom::cost_factory_test {
namespace {

CostChoice choose(const char* device, const CostRequest& request) {
  const Catalog catalog = Catalog::embedded();
  return make_step_cost(catalog, catalog.model("llama-3.1-8b"), catalog.device(device), request);
}

}  // namespace

TEST_CASE("a measured device and engine get their own constants") {
  CostRequest request;
  request.engine = "vllm";
  const CostChoice async = choose("h100-sxm", request);
  CHECK(async.calibration == "h100-sxm-vllm-async");
  CHECK_FALSE(async.uncalibrated);
  CHECK(async.client_latency_ns == 3'060'000);
  request.mode = EngineMode::sync;
  CHECK(choose("h100-sxm", request).calibration == "h100-sxm-vllm-sync");
}

TEST_CASE("constants are for weights of the dtype that they were fitted with") {
  const Catalog catalog = Catalog::embedded();
  CostRequest request;
  request.engine = "vllm";
  request.engine = "trtllm";
  const auto chosen = [&](const char* model) {
    return choose_calibration(catalog, catalog.model(model), catalog.device("h100-sxm"), request)
        .id;
  };
  CHECK(chosen("llama-3.3-70b-fp8-dynamic") == "h100-sxm-trtllm-async-fp8");
  CHECK(chosen("llama-3.3-70b") == "generic-async-hopper");
  request.engine = "vllm";
  CHECK(chosen("llama-3.3-70b") == "h100-sxm-vllm-async");
  CHECK(chosen("llama-3.3-70b-fp8-dynamic") == "generic-async-hopper");
  CHECK(chosen("llama-3.3-70b-w8a8") == "generic-async-hopper");
}

TEST_CASE("constants of a chip hold whatever drivers report, those of any weights come last") {
  Catalog catalog = Catalog::embedded();
  CostRequest request;
  request.engine = "vllm";
  const auto chosen = [&](const char* model, const char* device) {
    return choose_calibration(catalog, catalog.model(model), catalog.device(device), request).id;
  };
  for (const char* device : {"gb10", "gb10-2025"}) {
    CHECK(chosen("llama-3.1-8b", device) == "gb10-vllm-async");
    CHECK(chosen("gpt-oss-120b", device) == "gb10-vllm-async");
    CHECK(make_step_cost(catalog, catalog.model("llama-3.1-8b"), catalog.device(device), request)
              .calibration == "gb10-vllm-async");
  }
  Calibration own = catalog.calibration("gb10-vllm-async");
  own.id = "a-row-of-its-own";  // before it in the catalog
  own.weights = "mxfp4";
  catalog.put(own);
  CHECK(chosen("gpt-oss-120b", "gb10") == "a-row-of-its-own");
  CHECK(chosen("llama-3.1-8b", "gb10") == "gb10-vllm-async");
}

TEST_CASE("constants of an architecture are shares of the arithmetic that a device attains") {
  const Catalog catalog = Catalog::embedded();
  CostRequest request;
  request.engine = "llamacpp";
  request.mode = EngineMode::sync;
  const auto share = [&](const char* id) {
    const DeviceSpec& device = catalog.device(id);
    return make_step_cost(catalog, catalog.model("llama-3.1-8b"), device, request)
               .matrix_flops_per_s /
           device.fp16_flops;
  };
  CHECK(share("gb10") / share("rtxpro6000-server") == Approx(0.81));
  CHECK(share("gb10-2025") == share("gb10"));
  request.calibration = "gb10-vllm-async";  // fitted here
  request.engine = "vllm";
  request.mode = EngineMode::async;
  CHECK(share("gb10") == Approx(0.7));
}

TEST_CASE("constants for certain releases are chosen for these and for no others") {
  Catalog catalog = Catalog::embedded();
  Calibration old = catalog.calibration("h100-sxm-vllm-sync");
  old.id = "an-old-engine";
  old.first_version = EngineVersion{0, 2};
  old.last_version = EngineVersion{0, 4};
  catalog.put(old);
  CostRequest request;
  request.engine = "vllm";
  request.mode = EngineMode::sync;
  const auto chosen = [&] {
    return choose_calibration(catalog, catalog.model("llama-3.1-8b"), catalog.device("h100-sxm"),
                              request)
        .id;
  };
  CHECK(chosen() == "h100-sxm-vllm-sync");  // a release that is not known
  request.version = EngineVersion{0, 2};
  CHECK(chosen() == "an-old-engine");
  request.version = EngineVersion{0, 4};
  CHECK(chosen() == "an-old-engine");
  request.version = EngineVersion{0, 5};
  CHECK(chosen() == "h100-sxm-vllm-sync");
}

TEST_CASE("without a fitting calibration the generic one is used and said so") {
  CostRequest request;
  request.engine = "vllm";
  CHECK(choose("l40s", request).calibration == "generic-async-other");
  CHECK(choose("h200-sxm", request).calibration == "generic-async-hopper");
  CHECK(choose("l40s", request).uncalibrated);
  request.engine = "orca";
  CHECK(choose("h100-sxm", request).uncalibrated);
}

TEST_CASE("an engine's constants of no device are of an architecture, weights and releases") {
  const Catalog catalog = Catalog::embedded();
  CostRequest request;
  request.engine = "llamacpp";
  request.mode = EngineMode::sync;
  const ModelSpec plain = catalog.model("llama-3-8b");
  const ModelSpec small = quantised(plain, Dtype::q4_k_m);
  const auto chosen = [&](const ModelSpec& model, const char* device) {
    return choose_calibration(catalog, model, catalog.device(device), request).id;
  };
  CHECK(chosen(small, "rtx4090") == "llamacpp-tensor-cores-int8");
  CHECK(chosen(plain, "rtx4090") == "llamacpp-tensor-cores-16-bit");
  CHECK(chosen(plain, "rtxa6000") == "llamacpp-tensor-cores-16-bit");  // ampere, too, but sm 86
  CHECK(chosen(plain, "a100-80") == "llamacpp-a100-16-bit");
  CHECK(chosen(small, "a100-80") == "llamacpp-a100-int8");
  CHECK(chosen(plain, "h100-pcie") == "llamacpp-hopper-16-bit");
  CHECK(chosen(quantised(catalog.model("gpt-oss-20b"), Dtype::mxfp4), "gb10") ==
        "llamacpp-tensor-cores-int8");
  CHECK(chosen(small, "strix-halo-128") == "llamacpp-rdna3.5-int8");
  CHECK(chosen(plain, "strix-halo-128") == "llamacpp-rdna-16-bit");
  CHECK(chosen(small, "rx7900xtx") == "llamacpp-rdna3-int8");
  CHECK(chosen(small, "r9700") == "llamacpp-rdna4-int8");
  CHECK(chosen(plain, "r9700") == "llamacpp-rdna-16-bit");
  CHECK(chosen(small, "m2-ultra") == "llamacpp-metal");
  CHECK(chosen(plain, "m4-max") == "llamacpp-metal");
  // An NVIDIA card of before tensor cores for int8.
  CHECK(chosen(small, "v100-32") == "llamacpp-other");
  request.version = EngineVersion{0, 2824};
  CHECK(chosen(small, "rtx4090") == "llamacpp-tensor-cores-dequantised");
  CHECK(chosen(small, "a100-80") == "llamacpp-a100-dequantised");
  CHECK(chosen(plain, "rtx4090") == "llamacpp-tensor-cores-16-bit");
  request.version = EngineVersion{0, 6918};
  CHECK(chosen(small, "rtx4090") == "llamacpp-tensor-cores-int8");
  request.engine = "vllm";  // not its constants
  CHECK(chosen(small, "l40s") == "generic-sync-other");
}

TEST_CASE("products may be computed in other formats than weights are stored in") {
  const Catalog catalog = Catalog::embedded();
  const auto tera = [&](const char* device, Dtype weights, Products products) {
    return matrix_flops(catalog.device(device), weights, products) / 1e12;
  };
  CHECK(tera("rtxa6000", Dtype::q4_k_m, Products::as_stored) == Approx(154.8));
  CHECK(tera("rtxa6000", Dtype::q4_k_m, Products::int8) == Approx(309.7));
  CHECK(tera("rtxa6000", Dtype::bf16, Products::int8) == Approx(154.8));
  CHECK(tera("m2-ultra", Dtype::q4_k_m, Products::int8) == Approx(27.2));  // has no int8 rate
  // GeForce sums in 16 bits twice as fast as in 32, server parts do not.
  CHECK(tera("rtx4090", Dtype::fp16, Products::as_stored) == Approx(165.2));
  CHECK(tera("rtx4090", Dtype::fp16, Products::half) == Approx(330.3));
  CHECK(tera("a100-80", Dtype::fp16, Products::half) == Approx(312));
}

TEST_CASE("a prompt of quantised weights takes llama.cpp a share of the int8 rate") {
  // 6.98e9 weights of the layers, 4096 tokens, a fifth of 309.7 TOPS: 923 ms. Attention, norms and
  // overheads add less than a tenth; a share of 0.7 of the 16-bit rate would be 528 ms.
  const Catalog catalog = Catalog::embedded();
  CostRequest request;
  request.engine = "llamacpp";
  request.mode = EngineMode::sync;
  request.roofline.limits = {8, 8192, 8192, 0};
  const CostChoice choice =
      make_step_cost(catalog, quantised(catalog.model("llama-3-8b"), Dtype::q4_k_m),
                     catalog.device("rtxa6000"), request);
  CHECK(choice.uncalibrated);
  StepShape shape;
  shape.add_chunk(0, 4096);
  shape.sampled_rows = 1;
  StepPrice price;
  choice.cost->price(shape, price);
  const double ms = static_cast<double>(price.base) / kTicksPerNs / 1e6;
  CHECK(ms > 923);
  CHECK(ms < 1.1 * 923);
}

TEST_CASE("constants fitted with 16-bit weights are not used for fp8") {
  const Catalog catalog = Catalog::embedded();
  const ModelSpec fp8 = quantised(catalog.model("llama-3.1-8b"), Dtype::fp8);
  CHECK(make_step_cost(catalog, fp8, catalog.device("rtx4090"), {}).uncalibrated);
}

TEST_CASE("a capped clock slows arithmetic, a shared memory what reads it") {
  StepShape decode;
  decode.decode_rows = decode.sampled_rows = 1;
  decode.decode_context = 100;
  StepShape chunk;
  chunk.chunk_rows = chunk.sampled_rows = 1;
  chunk.chunk_tokens = chunk.chunk_context = 8000;
  chunk.chunk_pairs_twice = 8000 * 8000;
  const auto ticks = [](double clock, double bandwidth, const StepShape& shape) {
    CostRequest request;
    request.engine = "vllm";
    request.level = CostLevel::spec;
    request.clock_share = clock;
    request.bandwidth_share = bandwidth;
    StepPrice price;
    choose("h100-sxm", request).cost->price(shape, price);
    return static_cast<double>(price.base);
  };
  // One token waits for weights alone, 8000 tokens for arithmetic but for a few per cent.
  CHECK(ticks(0.5, 1, decode) == Approx(ticks(1, 1, decode)).epsilon(0.001));
  CHECK(ticks(1, 0.5, decode) == Approx(2 * ticks(1, 1, decode)).epsilon(0.001));
  CHECK(ticks(0.5, 1, chunk) == Approx(2 * ticks(1, 1, chunk)).epsilon(0.1));
  CHECK(ticks(1, 0.5, chunk) == Approx(ticks(1, 1, chunk)).epsilon(0.2));
  // A fitted row is of the whole device, and still fits its part.
  CostRequest fitted;
  fitted.engine = "vllm";
  fitted.clock_share = 0.7;
  CHECK(choose("h100-sxm", fitted).calibration == "h100-sxm-vllm-async");
}

TEST_CASE("the data-sheet level has no overheads and needs no calibration") {
  CostRequest request;
  request.engine = "vllm";
  request.level = CostLevel::spec;
  const CostChoice choice = choose("l40s", request);
  CHECK(choice.calibration == "spec");
  CHECK_FALSE(choice.uncalibrated);
  CHECK(choice.client_latency_ns == 0);
}

TEST_CASE("a calibration fitted with another bandwidth is an error") {
  CostRequest request;
  request.engine = "vllm";
  const Catalog catalog = Catalog::embedded();
  DeviceSpec device = catalog.device("rtx4090");
  const Calibration& row = catalog.calibration("rtx4090-vllm-async");
  device.bandwidth_bytes_per_s = 1015e9;  // 0.7 % off: the same device
  CHECK_NOTHROW(check_fits(row, device));
  device.bandwidth_bytes_per_s = 1030e9;
  CHECK_THROWS_AS(check_fits(row, device), ConfigError);
  CHECK_THROWS_AS(make_step_cost(catalog, catalog.model("llama-3.1-8b"), device, request),
                  ConfigError);
}

TEST_CASE("a calibration can be named, for the mode and device it was made for") {
  CostRequest request;
  request.engine = "vllm";
  request.calibration = "generic-async-other";
  CHECK(choose("h100-sxm", request).calibration == "generic-async-other");
  request.calibration = "h100-sxm-vllm-sync";  // the engine runs async
  CHECK_THROWS_AS(choose("h100-sxm", request), ConfigError);
  request.calibration = "rtx4090-vllm-async";
  CHECK_THROWS_AS(choose("h100-sxm", request), ConfigError);
}

}  // namespace headroom::cost_factory_test
