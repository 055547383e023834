#include "sim/engines/llamacpp/compute_graph.hpp"

#include <catch2/catch.hpp>

#include "hardware/llm/parameters.hpp"
#include "sim/engines/llamacpp/graph_memory.hpp"
#include "sim/engines/llamacpp/ollama_budget.hpp"
#include "sim/engines/llamacpp/split.hpp"
#include "tests/unit/hardware/budget_models.hpp"

namespace headroom::llamacpp_graph_test {
namespace {

using namespace budget_test;

double mib(ByteCount bytes) { return static_cast<double>(bytes) / static_cast<double>(kMib); }

// As logs print it: to a hundredth of a MiB.
auto logged(double value) { return Approx(value).margin(0.0051); }

ModelSpec qwen2(const Dense& shape) {
  ModelSpec model = dense_model("qwen2", shape);
  for (LayerKind& kind : model.kinds) kind.attention->qkv_bias = true;
  return model;
}

double buffer(const ModelSpec& model, std::int64_t cells, std::int32_t build,
              LlamacppFlashAttn flash) {
  const LlamacppBudgetOptions options{
      .version = {0, build}, .ctx_size = cells, .parallel = 1, .flash_attn = flash};
  return mib(llamacpp_graph_bytes(model, options, {.first = 0, .last = model.order.size()}));
}

}  // namespace

TEST_CASE("tensors of a graph take the smallest hole that is large enough") {
  GraphMemory graph;
  const auto first = graph.add({}, 1024);
  const auto second = graph.add({first}, 512);   // 1024 to 1536, the first goes
  const auto third = graph.add({second}, 1024);  // 0 to 1024, the second goes
  const auto fourth = graph.add({third}, 256);   // 1024 to 1280
  CHECK(graph.peak() == 1536);
  graph.add({fourth, third}, 1024);  // 1280 to 2304: no hole has 1024
  CHECK(graph.peak() == 2304);
}

TEST_CASE("a tensor takes the place of a source that nothing else reads") {
  GraphMemory graph;
  const auto first = graph.add({}, 1024);
  const auto sum = graph.in_place({first}, 1024);
  CHECK(graph.peak() == 1024);
  const auto product = graph.in_place({sum}, 1024);
  graph.add({sum, product}, 128);  // the sum is read twice: the product has memory of its own
  CHECK(graph.peak() == 2 * 1024 + 128);
}

TEST_CASE("an output of a graph keeps its memory") {
  GraphMemory graph;
  const auto first = graph.add({}, 1024);
  const auto second = graph.add({first}, 1024);
  graph.add({second}, 1024);
  CHECK(graph.peak() == 2 * 1024);
  graph.keep(first);
  CHECK(graph.peak() == 3 * 1024);
}

TEST_CASE("compute buffers of llama.cpp have the size that start-up logs print") {
  using Flash = LlamacppFlashAttn;
  const ModelSpec yi = dense_model("yi-coder-9b", {48, 4096, 32, 4, 128, 11008, 64000, 131072});
  const ModelSpec codestral =
      dense_model("codestral-22b", {56, 6144, 48, 8, 128, 16384, 32768, 32768});
  // Masks in 32 bits, converted on the device (Ollama 0.21 and 0.22).
  CHECK(buffer(llama31_8b(), 131072, 7437, Flash::on) == logged(416.01));
  CHECK(buffer(yi, 32768, 7437, Flash::on) == logged(149.51));
  CHECK(buffer(codestral, 32768, 7437, Flash::on) == logged(176.01));
  CHECK(buffer(qwen2({28, 3584, 28, 4, 128, 18944, 152064, 32768}), 32768, 7780, Flash::on) ==
        logged(382.01));
  // Masks in 16 bits and logits of one token (b9672).
  CHECK(buffer(codestral, 4096, 9672, Flash::on) == logged(136.01));
  CHECK(buffer(llama31_8b(), 8192, 2824, Flash::off) == logged(560.0));
}

TEST_CASE("devices of llama.cpp that share the layers have four copies of each input") {
  // Llama-3-8B at 8192 cells on two RTX 4090 (b2824): 640.01 and 640.02 MiB, the host 72.02; on one
  // 560.00 and 24.01.
  BudgetInputs inputs = inputs_of(llama31_8b(), 24);
  LlamacppBudgetOptions options{.version = {0, 2824}, .ctx_size = 8192, .parallel = 1};
  inputs.sharding.pipeline = 2;
  CHECK(mib(llamacpp_split(inputs, options, 33, 0).device_compute) == Approx(640).margin(0.05));
  CHECK(mib(llamacpp_split(inputs, options, 33, 1).device_compute) == Approx(640).margin(0.05));
  CHECK(mib(llamacpp_split(inputs, options, 33, 0).host_compute) == Approx(72).margin(0.05));
  inputs.sharding.pipeline = 1;
  CHECK(mib(llamacpp_split(inputs, options, 33).device_compute) == Approx(560).margin(0.05));
}

TEST_CASE("Ollama puts as many layers on the device as its own estimate says") {
  // Llama-3.1-70B in q4_k_m, 32768 tokens, an A40 with 45,217 MiB free: 64 of 81 layers (0.11.10).
  BudgetInputs inputs = inputs_of(
      quantised(dense_model("llama-3.1-70b", {80, 8192, 64, 8, 128, 28672, 128256, 131072}),
                Dtype::q4_k_m),
      44.16);
  OllamaBudgetOptions options{.version = {0, 11}, .num_ctx = 32768, .num_parallel = 1};
  CHECK(ollama_runner(inputs, options).options.n_gpu_layers == 64);
  // Qwen2.5-Coder-32B likewise, an RTX 3090 with 24,130 MiB free: 49 of 65 (0.19).
  inputs = inputs_of(quantised(qwen2({64, 5120, 40, 8, 128, 27648, 152064, 32768}), Dtype::q4_k_m),
                     23.564);
  options.version = {0, 19};
  CHECK(ollama_runner(inputs, options).options.n_gpu_layers == 49);
  options.version = {0, 30};  // left to llama-server
  CHECK_FALSE(ollama_runner(inputs, options).options.n_gpu_layers);
}

TEST_CASE("a q4_k_m file has the bytes that start-up logs print") {
  // Llama-3.1-8B: 281.81 MiB on the host, 4403.49 on the device.
  const BudgetInputs inputs = inputs_of(quantised(llama31_8b(), Dtype::q4_k_m), 24);
  const LlamacppSplit split = llamacpp_split(inputs, {.ctx_size = 8192, .parallel = 1}, 33);
  CHECK(mib(split.host_weights) == logged(281.81));
  CHECK(mib(split.device_weights) == logged(4403.49));
}

TEST_CASE("a tower leaves the types of a q4_k_m file's other matrices as they are") {
  const ModelSpec text = quantised(llama31_8b(), Dtype::q4_k_m);
  ModelSpec seeing = llama31_8b();
  seeing.vision.emplace();
  seeing.vision->params = 400'000'000;
  seeing = quantised(seeing, Dtype::q4_k_m);
  const ByteCount tower = model_parts(seeing).bytes_of(ModelPart::vision);
  CHECK(tower > 0);
  CHECK(checkpoint_bytes(seeing) - tower == checkpoint_bytes(text));
}

}  // namespace headroom::llamacpp_graph_test
