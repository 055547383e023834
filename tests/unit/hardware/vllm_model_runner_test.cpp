#include "sim/engines/vllm/model_runner.hpp"

#include <catch2/catch.hpp>

#include "hardware/catalog.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/engines/vllm/budget.hpp"

namespace headroom::vllm_model_runner_test {
namespace {

const Catalog& catalog() {
  static const Catalog instance = Catalog::embedded();
  return instance;
}

bool second(EngineVersion version, const char* model, const char* draft = "none",
            const char* device = "h100-sxm") {
  return takes_second_runner(version, catalog().model(model), catalog().device(device), draft);
}

}  // namespace

TEST_CASE("the second model runner comes by architecture, then for dense models, then for all") {
  CHECK_FALSE(second({0, 21}, "qwen3-8b"));
  CHECK(second({0, 22}, "qwen3-8b"));
  CHECK_FALSE(second({0, 22}, "qwen3-32b-fp8"));  // quantised models joined in 0.24
  CHECK(second({0, 24}, "qwen3-32b-fp8"));
  CHECK_FALSE(second({0, 22}, "llama-3.1-8b"));
  CHECK(second({0, 23}, "llama-3.1-8b"));
  CHECK_FALSE(second({0, 24}, "qwen2.5-7b"));
  CHECK(second({0, 25}, "qwen2.5-7b"));
  CHECK_FALSE(second({0, 28}, "qwen3-30b-a3b"));  // experts
  CHECK_FALSE(second({0, 28}, "qwen3.5-9b"));     // states
  CHECK(second({0, 29}, "qwen3-30b-a3b"));
  CHECK(second({0, 29}, "qwen3.5-9b"));
}

TEST_CASE("a way of drafting that the second runner lacks keeps the first one") {
  CHECK_FALSE(second({0, 28}, "llama-3.1-8b", "ngram"));
  CHECK_FALSE(second({0, 30}, "llama-3.1-8b", "draft_model"));
  CHECK(second({0, 33}, "llama-3.1-8b", "ngram"));
  CHECK(second({0, 25}, "llama-3.1-8b", "eagle3"));
  CHECK(second({0, 25}, "llama-3.1-8b", "dflash"));
  CHECK_FALSE(second({0, 23}, "llama-3.1-8b", "dflash"));
}

TEST_CASE("the second runner keeps no memory for graphs out of the pool before 0.29") {
  BudgetInputs in;
  in.model = catalog().model("llama-3.1-8b");
  in.device = catalog().device("rtx4090");
  const auto estimate = [&in](EngineVersion version) {
    VllmBudgetOptions options;
    options.version = version;
    return vllm_graph_estimate_bytes(in, options);
  };
  CHECK(estimate({0, 22}) == bytes_from_gib(0.00022 * 32 * (51 + 35)));
  CHECK(estimate({0, 23}) == 0);
  CHECK(estimate({0, 28}) == 0);
  CHECK(estimate({0, 29}) == estimate({0, 22}));
}

TEST_CASE("the second runner profiles greedy sampling alone before 0.33") {
  VllmBudgetOptions options;
  options.max_num_seqs = 1024;
  const ModelSpec& model = catalog().model("llama-3.1-8b");
  const auto sampler_bytes = [&](EngineVersion version) {
    options.version = version;
    options.max_num_batched_tokens = 1024;  // the layers need less
    return vllm_activation_bytes(model, {}, options, true) - 1024LL * 2 * model.hidden;
  };
  CHECK(sampler_bytes({0, 24}) == 1024 * model.vocab * 6);
  CHECK(sampler_bytes({0, 33}) > 1024 * model.vocab * 14);
}

// hardware/catalog/measured/h200: nothing was fitted to these.
TEST_CASE("start-ups of vLLM 0.24 on an H200") {
  struct Logged {
    const char* model;
    std::int32_t max_model_len;
    double utilization;
    double kv_gib;
    double off_gib;
  };
  for (const Logged& logged : {Logged{"llama-3.1-8b", 16384, 0.92, 112.28, 0.2},
                               Logged{"llama-3.1-8b", 4096, 0.15, 4.64, 0.2},
                               Logged{"qwen3-30b-a3b", 16384, 0.92, 68.18, 0.5}}) {
    BudgetInputs in;
    in.model = catalog().model(logged.model);
    in.device = catalog().device("h200-sxm");
    in.machine.total_bytes = bytes_from_gib(139.81);
    VllmBudgetOptions options;
    options.version = {0, 24};
    options.max_model_len = logged.max_model_len;
    options.gpu_memory_utilization = logged.utilization;
    options.max_num_seqs = 1024;
    options.max_num_batched_tokens = 8192;
    const MemoryBudget budget = vllm_budget(in, options);
    CHECK(gib_from_bytes(budget.kv_pool_bytes) == Approx(logged.kv_gib).margin(logged.off_gib));
  }
}

TEST_CASE("a pooling model measures no sampler") {
  VllmBudgetOptions options;
  options.version = {0, 11};
  const ModelSpec& model = catalog().model("qwen3-embedding-4b");
  const ByteCount sampled = vllm_activation_bytes(model, {}, options);
  options.pooling = true;
  // 256 rows of 151,665 entries at 38.7 bytes were more than the layers need.
  CHECK(sampled - vllm_activation_bytes(model, {}, options) > bytes_from_gib(0.5));
  BudgetInputs in;
  in.model = model;
  in.device = catalog().device("h100-sxm");
  CHECK_THAT(vllm_budget_warnings(in, options).back(), Catch::Contains("pooling"));
}

}  // namespace headroom::vllm_model_runner_test
