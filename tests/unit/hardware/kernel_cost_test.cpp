// Steps composed from measured kernels.
#include "hardware/cost/kernel_cost.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "hardware/catalog.hpp"
#include "hardware/cost/factory.hpp"
#include "sim/kernel/random.hpp"

namespace headroom::kernel_cost_test {
namespace {

constexpr CostLimits kLimits{.max_num_seqs = 256, .max_step_tokens = 8192, .max_model_len = 32768};

struct System {
  const char* model = "llama-3.1-70b";
  std::int64_t tensor = 4;
  CapturedSteps captured = {{1, 2, 4, 8, 16, 32, 64, 128, 256}, 256};
  const char* device = "h100-sxm";
  HostTime host = {};
};

KernelCost cost_of(const System& system, const BetweenKernels& between) {
  const Catalog catalog = Catalog::embedded();
  const ModelSpec model = catalog.model(system.model);
  ParallelOptions parallel;
  parallel.sharding.tensor = system.tensor;
  KernelLibrary library = catalog.kernel_library(catalog.device(system.device), KernelEngine::vllm);
  return {LayerKernels(model, parallel, Dtype::bf16, {}, std::move(library)),
          between,
          system.captured,
          system.host,
          model.hidden,
          kLimits};
}

KernelCost cost_of(const System& system) {
  return cost_of(system, *Catalog::embedded().between_kernels("vllm"));
}

StepShape decodes(std::int64_t rows, TokenCount context_each) {
  StepShape shape;
  shape.decode_rows = shape.sampled_rows = rows;
  shape.decode_context = rows * context_each;
  return shape;
}

StepShape prompt(TokenCount tokens, TokenCount cached = 0) {
  StepShape shape;
  shape.add_chunk(cached, tokens);
  shape.sampled_rows = 1;
  return shape;
}

StepPrice price(const KernelCost& cost, const StepShape& shape) {
  StepPrice shown;
  cost.price(shape, shown);
  return shown;
}

double ms(Ticks ticks) {
  return static_cast<double>(ticks) / 1e6 / static_cast<double>(kTicksPerNs);
}

}  // namespace

TEST_CASE("a run of decode steps priced by kernels may be cut anywhere") {
  RandomStream stream(7, "test/kernel_cost");
  for (const System& system :
       {System{}, System{.captured = {}}, System{.model = "gpt-oss-120b", .tensor = 1},
        System{.model = "deepseek-r1", .tensor = 8, .device = "b200"},
        System{.model = "deepseek-v4-pro", .tensor = 8, .device = "b200"},
        System{.model = "minimax-m3", .tensor = 8, .device = "b200"}}) {
    const KernelCost cost = cost_of(system);
    for (int i = 0; i < 300; ++i) {
      StepShape shape = decodes(stream.uniform_int(1, 256), stream.uniform_int(1, 20'000));
      shape.decode_context += stream.uniform_int(0, shape.decode_rows - 1);
      const StepPrice first = price(cost, shape);
      REQUIRE(first.base > 0);
      REQUIRE(first.base_terms.sum() == first.base);
      REQUIRE(first.slope_terms.sum() == first.slope);
      const StepCount later =
          stream.uniform_int(0, std::min<StepCount>(first.valid_steps, 5'000) - 1);
      StepShape then = shape;
      then.decode_context += later * shape.decode_rows;
      CHECK(price(cost, then).base == first.base + later * first.slope);
    }
  }
}

TEST_CASE("a captured decode step takes its kernels, one outside graphs at least its launches") {
  // 80 dense layers.
  const double captured = ms(price(cost_of({}), decodes(8, 1000)).base);
  CHECK(captured > 8);
  CHECK(captured < 20);
  const StepPrice eager = price(cost_of({.captured = {}}), decodes(8, 1000));
  const Catalog catalog = Catalog::embedded();
  const BetweenKernels& between = *catalog.between_kernels("vllm");
  CHECK(ms(eager.base) ==
        Approx(80 * between.layer_launches * between.launch_ns / 1e6).epsilon(1e-6));
  CHECK(eager.base_terms[CostTerm::host] > 0);
  // A long prompt covers them: no floor.
  CHECK(price(cost_of({.captured = {}}), prompt(8192)).base_terms[CostTerm::host] == 0);
}

TEST_CASE("layers with an indexer and recurrent ones have small kernels of their own") {
  const auto added_us = [](const char* model, double BetweenKernels::*constant) {
    const System system{.model = model, .tensor = 8, .device = "b200"};
    BetweenKernels between = *Catalog::embedded().between_kernels("vllm");
    const StepPrice before = price(cost_of(system, between), decodes(8, 1000));
    between.*constant += 1000;
    const StepPrice after = price(cost_of(system, between), decodes(8, 1000));
    CHECK(after.slope == before.slope);
    return 1000 * ms(after.base - before.base);
  };
  // GLM-5 has an indexer in each of 78 layers; of Qwen3.5's 60, 45 are recurrent.
  CHECK(added_us("glm-5", &BetweenKernels::sparse_ns) == Approx(78).epsilon(1e-6));
  CHECK(added_us("glm-5", &BetweenKernels::recurrent_ns) == 0);
  CHECK(added_us("qwen3.5-397b-a17b", &BetweenKernels::recurrent_ns) == Approx(45).epsilon(1e-6));
  CHECK(added_us("qwen3.5-397b-a17b", &BetweenKernels::sparse_ns) == 0);
  CHECK(added_us("deepseek-r1", &BetweenKernels::sparse_ns) == 0);
}

TEST_CASE("tensor ranks wait for the slowest at each all-reduce, longer the more they are") {
  const auto added_us = [](const char* model, std::int64_t ranks, const StepShape& shape) {
    const System system{.model = model, .tensor = ranks, .device = "b200"};
    BetweenKernels between = *Catalog::embedded().between_kernels("vllm");
    const StepPrice before = price(cost_of(system, between), shape);
    between.reduce_ns += 1000;
    return 1000 * ms(price(cost_of(system, between), shape).base - before.base);
  };
  // Two all-reduces in each of 32 layers; one more for the norms over all heads in MiniMax's 62.
  CHECK(added_us("llama-3.1-8b", 1, decodes(8, 1000)) == 0);
  CHECK(added_us("llama-3.1-8b", 2, decodes(8, 1000)) == Approx(64).epsilon(1e-6));
  CHECK(added_us("llama-3.1-8b", 8, decodes(8, 1000)) == Approx(3 * 64).epsilon(1e-6));
  CHECK(added_us("minimax-m2.5", 4, decodes(8, 1000)) == Approx(2 * 3 * 62).epsilon(1e-6));
}

TEST_CASE("a delta rule is launched in pieces over prompts alone, a scan of Mamba's is not") {
  BetweenKernels more = *Catalog::embedded().between_kernels("vllm");
  more.recurrent_launches *= 2;
  const auto added_ms = [&](const char* model, const StepShape& shape) {
    const System eager{.model = model, .tensor = 1, .captured = {}};
    return ms(price(cost_of(eager, more), shape).base - price(cost_of(eager), shape).base);
  };
  CHECK(added_ms("qwen3.5-9b", decodes(8, 1000)) == 0);
  CHECK(added_ms("nemotron-3-nano-30b-a3b", prompt(100)) == 0);
  // 24 recurrent layers.
  CHECK(added_ms("qwen3.5-9b", prompt(100)) ==
        Approx(24 * more.recurrent_launches / 2 * more.launch_ns / 1e6).epsilon(1e-6));
}

TEST_CASE("no captured graph holds a delta rule over prompts") {
  for (const char* engine : {"vllm", "sglang"}) {  // SGLang's row has more launches outside graphs
    const BetweenKernels between = *Catalog::embedded().between_kernels(engine);
    const System captured{.model = "qwen3.5-9b", .tensor = 1, .captured = {{1, 2, 8, 256}, 256}};
    const KernelCost cost = cost_of(captured, between);
    const StepPrice step = price(cost, prompt(100));
    CHECK(ms(step.base) == Approx(24 * 16 * between.launch_ns / 1e6).epsilon(1e-6));
    CHECK(step.base_terms[CostTerm::host] > 0);
    CHECK(price(cost, decodes(8, 1000)).base_terms[CostTerm::host] == 0);
  }
}

TEST_CASE("an engine that plans after a step adds the host's time to it") {
  const StepPrice alone = price(cost_of({}), decodes(8, 1000));
  const StepPrice planned = price(cost_of({.host = {.step = 1000, .row = 10}}), decodes(8, 1000));
  CHECK(planned.base == alone.base + 1080);
  CHECK(planned.base_terms[CostTerm::host] == 1080);
  CHECK(planned.slope == alone.slope);
}

TEST_CASE("whether a short prompt meets the floor of launches is for the captured sizes to say") {
  const KernelCost mixed = cost_of({.captured = {{1, 2, 4, 8, 256}, 256}});
  const KernelCost decode_only = cost_of({.captured = {{1, 2, 4, 8, 256}, 0}});
  CHECK(price(mixed, prompt(100)).base_terms[CostTerm::host] == 0);
  CHECK(price(decode_only, prompt(100)).base_terms[CostTerm::host] > 0);
  CHECK(price(mixed, prompt(300)).base_terms[CostTerm::host] > 0);  // above the largest size
}

TEST_CASE("a device that runs at part of its rates takes longer, by what bounds each kernel") {
  const Catalog catalog = Catalog::embedded();
  DeviceSpec slow = catalog.device("h100-sxm");
  const KernelLibrary whole = catalog.kernel_library(slow, KernelEngine::vllm);
  slow.bandwidth_bytes_per_s /= 2;
  const KernelLibrary half = catalog.kernel_library(slow, KernelEngine::vllm);
  // A few rows read weights; 8,192 compute.
  const auto ratio = [&](double rows) {
    return half.linear(ProductFormat::bf16, rows, 8192, 8192).us /
           whole.linear(ProductFormat::bf16, rows, 8192, 8192).us;
  };
  CHECK(ratio(4) > 1.8);
  CHECK(ratio(8192) < 1.2);
}

TEST_CASE("longer contexts, more rows and longer prompts never cost less") {
  for (const char* model : {"llama-3.1-70b", "gpt-oss-120b", "deepseek-v4-flash", "minimax-m3"}) {
    const KernelCost cost = cost_of({.model = model, .device = "h200-sxm"});
    Ticks last = 0;
    for (const TokenCount context : {1, 100, 128, 1000, 5000, 32'000}) {
      const Ticks base = price(cost, decodes(64, context)).base;
      CHECK(base >= last);
      last = base;
    }
    last = 0;
    for (const TokenCount tokens : {512, 1024, 2048, 4096, 8192}) {
      const Ticks base = price(cost, prompt(tokens)).base;
      CHECK(base >= last);  // equal where both take their launches
      last = base;
    }
    CHECK(price(cost, prompt(2048, 8192)).base >= price(cost, prompt(2048)).base);
  }
}

TEST_CASE("sparse attention that was not measured grows with what it reads") {
  // An indexer's scores alone grow beyond what is picked; dense layers grow with all tokens.
  const auto decode_ms = [](const char* model, TokenCount context) {
    return ms(price(cost_of({.model = model, .tensor = 8, .device = "b200"}), decodes(64, context))
                  .base_terms[CostTerm::attention_decode]);
  };
  for (const char* model : {"deepseek-v4-pro", "minimax-m3"}) {
    CAPTURE(model);
    const double near = decode_ms(model, 4096);
    const double far = decode_ms(model, 32'768);
    CHECK(far > near);
    CHECK(far < 5 * near);
  }
  CHECK(decode_ms("deepseek-v4-pro", 32'768) < decode_ms("deepseek-r1", 32'768));
  // Experts whose activations are in 8 bit, too, where the device has products for it.
  const Catalog catalog = Catalog::embedded();
  CHECK(kernels_missing(catalog.model("deepseek-v4-pro")).empty());
  CHECK(kernel_simplifications(catalog.model("deepseek-v4-pro")).size() == 1);
  CHECK(kernel_simplifications(catalog.model("minimax-m3")).size() == 1);
  CHECK(kernel_simplifications(catalog.model("deepseek-v3.2")).empty());
}

TEST_CASE("a model that is priced by kernels by itself is priced on every device with tables") {
  const Catalog catalog = Catalog::embedded();
  constexpr KernelEngine kEngines[] = {KernelEngine::vllm, KernelEngine::sglang,
                                       KernelEngine::trtllm};
  constexpr const char* kFamilies[] = {"vllm", "sglang", "trtllm"};
  const std::vector<std::string> systems = KernelLibrary::systems();
  std::size_t number = 0;
  std::size_t priced = 0;
  for (const std::string& id : catalog.model_ids()) {
    const ModelSpec model = catalog.model(id);
    const bool is_cut = std::ranges::none_of(model.kinds, [](const LayerKind& kind) {
      return kind.attention && kind.attention->q_heads < 8;
    });
    if (!is_cut) continue;                   // no eight ranks share four heads
    for (int i = 0; i < 3; ++i, ++number) {  // each model on three devices, in turn
      const DeviceSpec& device = catalog.device(systems[number % systems.size()]);
      CostRequest request;
      request.level = CostLevel::kernels;
      request.engine = kFamilies[number % 3];
      request.kernels = kEngines[number % 3];
      // Steps as large as SGLang's prefill batches, in a pool of half a million tokens.
      request.roofline.limits = {.max_num_seqs = 4096,
                                 .max_step_tokens = 250'000,
                                 .max_model_len = 131'072,
                                 .max_context_tokens = 500'000};
      request.roofline.parallel.sharding.tensor = 8;
      if (!prefers_kernels(catalog, model, device, request)) continue;
      CAPTURE(id, device.id, request.engine);
      StepPrice shown;
      make_step_cost(catalog, model, device, request).cost->price(decodes(4, 500), shown);
      CHECK(shown.base > 0);
      ++priced;
    }
  }
  CHECK(priced > 200);
}

TEST_CASE("the library prices what it has kernels of, and says what it lacks") {
  const Catalog catalog = Catalog::embedded();
  const auto why = [&](const ModelSpec& model, const char* device) {
    return why_no_kernels(catalog, model, catalog.device(device), "vllm", KernelEngine::vllm);
  };
  CHECK(why(catalog.model("llama-3.1-8b"), "h200-sxm").empty());
  CHECK(why(catalog.model("deepseek-r1"), "b200").empty());
  CHECK(why(quantised(catalog.model("llama-3.1-8b"), Dtype::q4_k_m), "h200-sxm") ==
        "no kernel times of attention weights in q4_k_m");
  CHECK(why(catalog.model("llama-3.1-8b"), "m2-ultra") ==
        "no kernel times of m2-ultra or of a relative");
  CHECK(why(catalog.model("llama-3.1-8b"), "mi300x").empty());  // its row names the H200
  CostRequest request;
  request.engine = "vllm";
  request.kernels = KernelEngine::vllm;
  const ModelSpec model = catalog.model("llama-3.1-8b");
  CHECK(prefers_kernels(catalog, model, catalog.device("h200-sxm"), request));
  // A row of constants stands for the models that it was fitted on.
  CHECK(prefers_kernels(catalog, model, catalog.device("h100-sxm"), request));
  const ModelSpec fitted = catalog.model("llama-2-7b");
  CHECK_FALSE(prefers_kernels(catalog, fitted, catalog.device("h100-sxm"), request));
  CHECK_FALSE(prefers_kernels(catalog, model, catalog.device("gb10"), request));
  CHECK(prefers_kernels(catalog, model, catalog.device("mi325x"), request));
  CHECK_FALSE(prefers_kernels(catalog, model, catalog.device("mi250x"), request));
  // One that was fitted on dense models does not price experts.
  request.mode = EngineMode::sync;
  CHECK_FALSE(prefers_kernels(catalog, model, catalog.device("a100-80"), request));
  CHECK(
      prefers_kernels(catalog, catalog.model("qwen3-30b-a3b"), catalog.device("a100-80"), request));
  request.mode = EngineMode::async;
  CHECK(why(catalog.model("deepseek-v4-pro"), "h200-sxm").empty());
  CHECK(why(catalog.model("deepseek-v4-flash"), "l40s") ==
        "no kernel times of sparse attention on l40s");
  // Sparse attention was measured on some of the devices.
  const ModelSpec sparse = catalog.model("deepseek-v3.2");
  CHECK(why(sparse, "h200-sxm").empty());
  CHECK(why(sparse, "a100-80") == "no kernel times of sparse attention on a100-80");
  CHECK_FALSE(prefers_kernels(catalog, sparse, catalog.device("a100-80"), request));
  CHECK(prefers_kernels(catalog, quantised(model, Dtype::fp8), catalog.device("b200"), request));
}

TEST_CASE("another vendor's kernels are said to be an assumption, with all that scaled them") {
  const Catalog catalog = Catalog::embedded();
  const ModelSpec model = catalog.model("llama-3.1-8b");
  const auto choice_on = [&](const char* device) {
    CostRequest request;
    request.level = CostLevel::kernels;
    request.engine = "vllm";
    request.kernels = KernelEngine::vllm;
    request.captured = {{1, 2, 4, 8}, 0};
    request.roofline.limits = kLimits;
    return make_step_cost(catalog, model, catalog.device(device), request);
  };
  const CostChoice taken = choice_on("mi300x");
  CHECK(taken.calibration == "kernels of h200-sxm");
  CHECK(taken.uncalibrated);
  CHECK_THAT(taken.source, Catch::Contains("kernel times of h200-sxm, an assumption for mi300x") &&
                               Catch::Contains("(bandwidth x0.88, attention of decodes x0.48 more, "
                                               "16 bit x0.64, 8 bit x0.67, link x0.66), starts "
                                               "take 1.6 times as long"));
  const CostChoice own = choice_on("h200-sxm");
  CHECK_THAT(own.source, !Catch::Contains("assumption"));
  // The small kernels of all layers take as long as they need to start.
  StepPrice here;
  StepPrice there;
  taken.cost->price(decodes(1, 100), here);
  own.cost->price(decodes(1, 100), there);
  const auto small = [](const StepPrice& price) {
    return static_cast<double>(price.base_terms[CostTerm::elementwise]);
  };
  CHECK(small(here) / small(there) == Approx(1.6));
}

}  // namespace headroom::kernel_cost_test
