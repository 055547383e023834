#include "sim/engines/startup_attribution.hpp"
#include "sim/engines/trtllm/engine.hpp"
#include "sim/engines/vllm/engine.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace headroom::startup_attribution_test {
namespace {

FoundNumber gib(double value) { return Found<double>{value, 7}; }

// Llama-3.1-8B, TP1, of vllm019_h100_startup.csv: 75.23 - 14.99 - 1.89 - 0.25 - 58.11 = -0.01.
StartupLog vllm_log() {
  StartupLog log;
  log.engine = &vllm_engine();
  log.memory.total_gib = gib(79.19);
  log.memory.free_gib = gib(78.68);
  log.memory.requested_gib = gib(0.95 * 79.19);
  log.memory.weights_gib = gib(14.99);
  log.memory.activation_gib = gib(1.89);
  log.memory.non_torch_gib = gib(0.25);
  log.memory.available_kv_gib = gib(58.11);
  log.memory.graph_gib = gib(0.91);
  log.kv_tokens = Found<std::int64_t>{476016, 9};
  return log;
}

// What it would be without the hundredth of rounding.
ModelledMemory vllm_model() {
  ModelledMemory model;
  model.total_gib = 79.19;
  model.share = 0.95;
  model.weights_gib = 14.99;
  model.activation_gib = 1.89;
  model.non_torch_gib = 0.25;
  model.graph_gib = 0.84;
  model.others_gib = 0.51;
  model.kv_gib = 0.95 * 79.19 - 14.99 - 1.89 - 0.25;  // 58.1005
  model.kv_tokens = 475952;
  return model;
}

const Attribution& entry(const std::vector<Attribution>& all, MemoryCause cause) {
  const auto at = std::ranges::find(all, cause, &Attribution::cause);
  REQUIRE(at != all.end());
  return *at;
}
double effect(const std::vector<Attribution>& all, MemoryCause cause) {
  return entry(all, cause).pool_effect_gib;
}
double sum(const std::vector<Attribution>& all) {
  double total = 0;
  for (const Attribution& one : all) total += one.pool_effect_gib;
  return total;
}

}  // namespace

TEST_CASE("a model that is right leaves rounding only") {
  const auto all = attribute(vllm_log(), vllm_model());
  CHECK(entry(all, MemoryCause::pool).difference().value() == Approx(0.0095).margin(1e-9));
  CHECK(effect(all, MemoryCause::rounding) == Approx(0.0095).margin(1e-9));
  CHECK(effect(all, MemoryCause::unexplained) == Approx(0).margin(1e-9));
  CHECK(entry(all, MemoryCause::token_counting).why == "follows from the memory for KV");
}

TEST_CASE("each term that is off is named with its size") {
  // Modelled: 0.5 less weights, 0.3 more activation, 1 less outside torch, 2 more total.
  ModelledMemory model = vllm_model();
  model.weights_gib -= 0.5;
  model.activation_gib += 0.3;
  model.non_torch_gib -= 1.0;
  model.total_gib += 2.0;
  model.kv_gib =
      0.95 * model.total_gib - model.weights_gib - model.activation_gib - model.non_torch_gib;
  StartupLog log = vllm_log();
  const auto all = attribute(log, model);
  CHECK(effect(all, MemoryCause::weights) == Approx(-0.5));
  CHECK(effect(all, MemoryCause::activation) == Approx(0.3));
  CHECK(effect(all, MemoryCause::outside_torch) == Approx(-1.0));
  CHECK(effect(all, MemoryCause::total_memory) == Approx(-1.9));  // 0.95 * 2
  CHECK(effect(all, MemoryCause::share) == Approx(0).margin(1e-9));
  CHECK(effect(all, MemoryCause::unexplained) == Approx(0).margin(1e-9));
  CHECK(sum(all) == Approx(58.11 - model.kv_gib));
  CHECK(entry(all, MemoryCause::weights).line == 7);
}

TEST_CASE("graphs count where start-up or model subtracts them") {
  StartupLog log = vllm_log();
  ModelledMemory model = vllm_model();
  CHECK(effect(attribute(log, model), MemoryCause::graphs) == 0.0);
  // The model leaves 0.84 GiB for graphs, the start-up does not: its pool is larger by that.
  model.graphs_in_budget = true;
  model.kv_gib -= 0.84;
  CHECK(effect(attribute(log, model), MemoryCause::graphs) == Approx(0.84));
  // Both do, by another estimate.
  log.graphs_in_budget = true;
  log.memory.graph_estimate_gib = gib(1.04);
  log.memory.available_kv_gib = gib(58.11 - 1.04);
  const auto all = attribute(log, model);
  CHECK(effect(all, MemoryCause::graphs) == Approx(-0.2));
  CHECK(effect(all, MemoryCause::unexplained) == Approx(0).margin(1e-9));
}

TEST_CASE("a term that the log does not report is left unexplained and named") {
  StartupLog log = vllm_log();
  log.memory.activation_gib.reset();
  ModelledMemory model = vllm_model();
  model.activation_gib += 1.0;
  model.kv_gib -= 1.0;
  const auto all = attribute(log, model);
  // 1.0 of activation and the 0.0095 of rounding, of which 5 figures may explain 0.025.
  CHECK(effect(all, MemoryCause::unexplained) == Approx(1.0095 - 0.025).margin(1e-9));
  CHECK(entry(all, MemoryCause::unexplained).why ==
        "not explained by any reported term; not in the log: activation");
  CHECK(sum(all) == Approx(58.11 - model.kv_gib));
}

TEST_CASE("memory of others does not change what vLLM keeps for KV") {
  StartupLog log = vllm_log();
  log.memory.free_gib = gib(76.0);
  const auto all = attribute(log, vllm_model());
  CHECK(entry(all, MemoryCause::others).difference().value() == Approx(3.19 - 0.51));
  CHECK(effect(all, MemoryCause::others) == 0.0);
}

TEST_CASE("the peak of TensorRT-LLM takes its fraction from KV") {
  // FACTS.md 000: container against native, DeepSeek-7B: peak +30.83, KV -27.74 = 0.9 * 30.83.
  StartupLog log;
  log.engine = &trtllm_engine();
  log.memory.total_gib = gib(119.707);
  log.memory.peak_gib = gib(101.30);
  log.memory.fraction = gib(0.9);
  log.memory.available_kv_gib = gib(0.9 * (119.707 - 101.30));
  ModelledMemory native;
  native.total_gib = 119.707;
  native.weights_gib = 14.19;
  native.activation_gib = 1.0;
  native.others_gib = 70.47 - 15.19;
  native.kv_gib = 0.9 * (119.707 - 70.47);
  const auto all = attribute(log, native);
  CHECK(effect(all, MemoryCause::peak) == Approx(-0.9 * 30.83));
  CHECK(effect(all, MemoryCause::unexplained) == Approx(0).margin(1e-9));
  CHECK(sum(all) == Approx(-27.747));
}

TEST_CASE("a split peak of TensorRT-LLM is attributed part by part") {
  // The log of startup_failure_test.cpp: outside torch 49.28, of which 0.56 temporary pool.
  StartupLog log;
  log.engine = &trtllm_engine();
  log.memory.total_gib = gib(119.70);
  log.memory.peak_gib = gib(113.65);
  log.memory.weights_gib = gib(63.52);
  log.memory.activation_gib = gib(0.85);
  log.memory.non_torch_gib = gib(49.28);
  log.memory.temporary_gib = gib(0.56);
  log.memory.fraction = gib(0.9);
  log.memory.available_kv_gib = gib(5.95);
  ModelledMemory model;
  model.total_gib = 119.70;
  model.weights_gib = 63.0;
  model.activation_gib = 0.85;
  model.non_torch_gib = 1.0;
  model.graph_gib = 0.5;
  model.others_gib = 6.0;
  model.kv_gib = 0.9 * (119.70 - 63.0 - 0.85 - 7.5);
  const auto all = attribute(log, model);
  CHECK(effect(all, MemoryCause::weights) == Approx(-0.9 * 0.52));
  CHECK(effect(all, MemoryCause::outside_torch) == Approx(-0.9 * (48.72 - 7.5)));
  CHECK(effect(all, MemoryCause::unexplained) == Approx(0).margin(1e-9));
  CHECK(sum(all) == Approx(5.95 - model.kv_gib));
}

TEST_CASE("tokens of a hybrid model that were counted in another way are recognised") {
  // Gemma-3-27B of vllm019_h100_startup.csv: 15997 blocks, 7 groups, 36,560 = 15997 / 7 * 16.
  StartupLog log = vllm_log();
  ModelledMemory model = vllm_model();
  log.memory.available_kv_gib = gib(19.53);
  model.kv_gib = 19.53;
  model.kv_blocks = 15997;
  model.kv_groups = 7;
  model.max_concurrency = 20.0;
  model.max_model_len = 8192;
  model.kv_tokens = 163840;
  log.kv_tokens->value = 36560;
  const auto reason = [&] { return entry(attribute(log, model), MemoryCause::token_counting).why; };
  CHECK(reason() == "counted as blocks / 7 groups * 16 tokens (hybrid model, up to about v0.19)");
  model.kv_tokens = 36560;
  log.kv_tokens->value = 163840;
  CHECK(reason() == "counted as max_concurrency * max_model_len (newer releases)");
  log.kv_tokens->value = 255952;
  CHECK(reason() == "counted as blocks * block size, ignoring groups");
  log.kv_tokens->value = 100000;
  CHECK(reason() == "different pool layout: bytes per token or groups differ");
}

TEST_CASE("a start-up that failed before the pool has terms but nothing to explain") {
  StartupLog log = vllm_log();
  log.memory.available_kv_gib.reset();
  const auto all = attribute(log, vllm_model());
  CHECK(all.front().cause == MemoryCause::pool);
  CHECK_FALSE(all.front().reported);
  CHECK(std::ranges::find(all, MemoryCause::unexplained, &Attribution::cause) == all.end());
}

}  // namespace headroom::startup_attribution_test
