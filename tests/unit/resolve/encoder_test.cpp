// What an encoder, and the formats of a checkpoint, make of an engine's options; which measured
// containers are named beside the rules for them.

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "sim/resolve/resolve.hpp"
#include "sim/resolve/startup_budget.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"

namespace headroom::encoder_test {
namespace {

Scenario scenario_of(const std::string& engine, const std::string& model,
                     const std::string& device = "h100-sxm") {
  const std::string text = R"({"model": ")" + model + R"(", "device": ")" + device +
                           R"(", "engine": )" + engine + R"(, "workload": {
      "arrivals": {"process": "all_at_once"}, "num_requests": 3,
      "prompt": {"tokens": 8}, "output": {"tokens": 1}}})";
  return parse_scenario(parse_json(text, "s.json"));
}

}  // namespace

TEST_CASE("an encoder computes prompts whole and keeps nothing of them") {
  const Catalog catalog = Catalog::embedded();
  const auto encoder = [&](const char* engine) {
    return resolve(scenario_of(engine, "bge-m3", "l4"), catalog);
  };
  const Resolved r = encoder("{}");
  CHECK(r.scenario.engine.enable_chunked_prefill == false);
  CHECK(r.scenario.engine.enable_prefix_caching == false);
  CHECK(r.max_num_batched_tokens == 8192);  // at least a whole prompt, where an L4 takes 2048
  for (const char* option : {"enable_chunked_prefill", "enable_prefix_caching"}) {
    const std::string engine = std::string("{\"") + option + "\": true}";
    CHECK(test::about([&] { return encoder(engine.c_str()); }).pointer ==
          std::string("/engine/") + option);
  }
}

TEST_CASE("vLLM takes no memory for an encoder's KV") {
  const auto pool = [](const char* model) {
    return budgeted(resolve_system(scenario_of("{}", model, "l4"), Catalog::embedded()));
  };
  const auto [resolved, budget] = pool("bge-m3");
  REQUIRE_FALSE(budget.failure);
  CHECK(keeps_no_kv(budget, resolved.model));
  CHECK(budget.kv_pool_bytes < bytes_from_gib(0.1));
  // As many requests as there are seats are never short of blocks.
  CHECK(concurrent_sequences(budget, 8192) >= resolved.max_num_seqs);
  const auto [decoder, kept] = pool("qwen3-embedding-0.6b");
  CHECK_FALSE(keeps_no_kv(kept, decoder.model));
}

TEST_CASE("llama.cpp keeps nothing of an encoder's prompts, which must fit in a micro batch") {
  const Catalog catalog = Catalog::embedded();
  const auto pool = [&](const char* engine) {
    return budgeted(resolve_system(scenario_of(engine, "bge-m3", "l4"), catalog));
  };
  const auto [resolved, budget] = pool(R"({"name": "llamacpp"})");
  REQUIRE_FALSE(budget.failure);
  CHECK(keeps_no_kv(budget, resolved.model));
  CHECK(budget.kv_pool_bytes < bytes_from_gib(0.001));
  CHECK(resolved.max_model_len == 512);
  CHECK(resolved.max_num_batched_tokens == 512);
  CHECK(concurrent_sequences(budget, 512) == resolved.max_num_seqs);
  // A micro batch is no larger than a batch.
  const auto longest = [&](const char* engine) { return pool(engine).resolved.max_model_len; };
  CHECK(longest(R"({"name": "llamacpp", "ubatch_size": 8192})") == 2048);
  CHECK(longest(R"({"name": "llamacpp", "ubatch_size": 8192, "batch_size": 8192})") == 8192);
  CHECK(longest(R"({"name": "ollama", "num_ctx": 8192})") == 2048);
  CHECK(longest(R"({"name": "ollama", "num_ctx": 1024})") == 1024);
  CHECK(longest(R"({"name": "ollama", "num_ctx": 8192, "version": "0.20"})") == 8192);
  CHECK(longest(R"({"name": "ollama", "num_ctx": 8192, "version": "0.5"})") == 512);
  const auto warns = [&](const char* engine) {
    const Resolved one = pool(engine).resolved;
    return std::ranges::any_of(one.warnings, [](const std::string& warning) {
      return warning.find("refuses prompts of an encoder") != std::string::npos;
    });
  };
  CHECK(warns(R"({"name": "llamacpp"})"));
  CHECK_FALSE(warns(R"({"name": "llamacpp", "ubatch_size": 8192, "batch_size": 8192})"));
}

TEST_CASE("SGLang fills a pool for an encoder, and is asked to compute prompts whole") {
  const Catalog catalog = Catalog::embedded();
  const auto pool = [&](const char* engine) {
    return budgeted(resolve_system(scenario_of(engine, "bge-m3", "h100-sxm"), catalog));
  };
  const auto warns = [](const Resolved& resolved) {
    return std::ranges::any_of(resolved.warnings, [](const std::string& warning) {
      return warning.find("set chunked_prefill_size to -1") != std::string::npos;
    });
  };
  const auto [resolved, budget] = pool(R"({"name": "sglang"})");
  CHECK_FALSE(keeps_no_kv(budget, resolved.model));
  CHECK(warns(resolved));
  CHECK_FALSE(warns(pool(R"({"name": "sglang", "chunked_prefill_size": -1,
                             "disable_radix_cache": true})")
                        .resolved));
}

TEST_CASE("checkpoints in 32 bits are served in 16 unless told otherwise") {
  const Catalog catalog = Catalog::embedded();
  const auto dtype = [&](const char* engine, const char* model = "gpt2") {
    return resolve(scenario_of(engine, model), catalog).model.dtype;
  };
  CHECK(dtype("{}") == Dtype::bf16);
  CHECK(dtype("{}", "bge-m3") == Dtype::fp16);  // vLLM prefers it for models that make vectors
  CHECK(dtype(R"({"name": "sglang"})") == Dtype::bf16);
  CHECK(dtype(R"({"dtype": "float32"})") == Dtype::fp32);
  CHECK(dtype(R"({"name": "llamacpp"})", "bge-m3") == Dtype::fp16);
}

TEST_CASE("a GGUF file in mxfp4 has its other matrices in q8_0 where there are experts") {
  const Catalog catalog = Catalog::embedded();
  const auto says = [&](const char* model, const char* what) {
    const Resolved one = resolve_system(
        scenario_of(R"({"name": "llamacpp", "quantization": "mxfp4"})", model), catalog);
    return std::ranges::any_of(one.warnings, [what](const std::string& warning) {
      return warning.find(what) != std::string::npos;
    });
  };
  CHECK(says("qwen3-30b-a3b", "its other matrices in q8_0"));
  CHECK_FALSE(says("llama-3.1-8b", "its other matrices in q8_0"));
  CHECK(says("llama-3.1-8b", "makes mxfp4 of experts alone"));
}

TEST_CASE("what is moved and counted of sparse MLA is what the engine keeps") {
  const Catalog catalog = Catalog::embedded();
  const auto pads = [&](const char* engine, const char* device) {
    return kv_format(resolve_system(scenario_of(engine, "deepseek-v3.2", device), catalog))
        .padded_sparse_mla;
  };
  CHECK(pads(R"({"tensor_parallel_size": 8})", "h200-sxm"));
  CHECK_FALSE(pads(R"({"tensor_parallel_size": 8})", "b200"));
  CHECK(pads(R"({"tensor_parallel_size": 8, "version": "0.18"})", "b200"));
  CHECK_FALSE(pads(R"({"name": "sglang", "tensor_parallel_size": 8})", "h200-sxm"));
}

TEST_CASE("beside the rules for containers the measured ones of the model are named") {
  const Catalog catalog = Catalog::embedded();
  const auto says = [&](const char* model, const char* device, const char* environment) {
    Scenario scenario = scenario_of("{}", model, device);
    scenario.environment.name = environment;
    const Resolved resolved = resolve_system(scenario, catalog);
    return std::ranges::any_of(resolved.warnings, [](const std::string& warning) {
      return warning.find("environment docker-measured-gpt-oss-120b") != std::string::npos;
    });
  };
  CHECK(says("gpt-oss-120b", "gb10", "docker"));
  CHECK_FALSE(says("gpt-oss-120b", "gb10", "native"));
  CHECK_FALSE(says("gpt-oss-120b", "h100-sxm", "docker"));
  CHECK_FALSE(says("gpt-oss-20b", "gb10", "docker"));
}

}  // namespace headroom::encoder_test
