#include "sim/resolve/platform.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/resolve/run.hpp"
#include "sim/resolve/run_verdict.hpp"
#include "sim/resolve/start_verdict.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom::platform_test {
namespace {

const Catalog& catalog() {
  static const Catalog kCatalog = Catalog::embedded();
  return kCatalog;
}

RunResult run_of(const std::string& model, const std::string& device, const std::string& rest) {
  const std::string text =
      R"({"model": ")" + model + R"(", "device": ")" + device + R"(", )" + rest + R"(, "workload": {
      "num_requests": 3, "arrivals": {"request_rate": 1},
      "prompt": {"tokens": 100}, "output": {"tokens": 10}}})";
  return run(load_scenario({parse_json(text, "test"), ""}, "test", {}), catalog());
}

RunResult run_on(const std::string& device, const std::string& rest) {
  return run_of("llama-3.1-8b", device, rest);
}

}  // namespace

TEST_CASE("an engine without a back end for the device does not start", "[platform]") {
  const RunResult result = run_on("mi300x", R"("engine": {"name": "trtllm"})");
  CHECK_FALSE(result.started);
  REQUIRE(result.budget.failure);
  CHECK(result.budget.failure->stage == StartupStage::platform);
  CHECK(start_verdict(result.resolved, result.budget) == StartVerdict::does_not_start);
  const RunVerdict verdict = judge_run(result, catalog());
  CHECK(verdict.verdict == HoldVerdict::does_not_start);
  CHECK(verdict.reason == "trtllm runs on NVIDIA devices only");
  CHECK(run_on("h100-sxm", R"("engine": {"name": "trtllm"})").started);
}

TEST_CASE("a container on macOS has no device to run on", "[platform]") {
  const RunResult result =
      run_on("m4-max", R"("engine": {"name": "llamacpp"}, "environment": "docker")");
  REQUIRE(result.budget.failure);
  CHECK(result.budget.failure->message.find("see no GPU") != std::string::npos);
  CHECK(run_on("m4-max", R"("engine": {"name": "llamacpp"})").started);
}

TEST_CASE("an engine that needs a plug-in may start, and says so", "[platform]") {
  const RunResult result = run_on("m4-max", R"("engine": {"name": "vllm"})");
  CHECK(result.started);
  CHECK(start_verdict(result.resolved, result.budget) == StartVerdict::may_not_start);
  const std::string text = platform_gap(result.resolved)->text;
  CHECK(std::ranges::count(result.warnings, text) == 1);
}

TEST_CASE("weights that are read anew at every step make an answer tight", "[platform]") {
  // 28 GiB in bf16 of 27 that macOS leaves of 36.
  const RunResult result = run_of("qwen3-14b", "m3-pro-36", R"("engine": {"name": "llamacpp"})");
  CHECK(result.started);
  CHECK(result.budget.reread_weight_bytes > 0);
  CHECK(start_verdict(result.resolved, result.budget) == StartVerdict::may_not_start);
  CHECK(start_reason(result.resolved, result.budget).find("every step reads them") !=
        std::string::npos);
  CHECK(run_of("qwen3-8b", "m3-pro-36", R"("engine": {"name": "llamacpp"})")
            .budget.reread_weight_bytes == 0);
}

TEST_CASE("a number before the device is how many a replica has", "[platform]") {
  const RunResult split = run_on("2x4090", R"("engine": {"name": "vllm"})");
  CHECK(split.resolved.device.id == "rtx4090");
  CHECK(split.resolved.sharding.tensor == 2);
  CHECK(run_on("2x4090", R"("engine": {"name": "vllm", "pipeline_parallel_size": 2})")
            .resolved.sharding.tensor == 1);
  CHECK(run_of("llama-3.1-8b", "2x4090", R"("engine": {"name": "llamacpp"})")
            .resolved.sharding.pipeline == 2);
  for (const char* wrong : {"0x4090", "4x4090"}) {
    try {
      run_on(wrong, R"("engine": {"name": "vllm", "tensor_parallel_size": 2})");
      FAIL(wrong);
    } catch (const ConfigError& error) {
      CHECK(error.complaint().pointer == "/device/name");
      CHECK(error.complaint().value == wrong);
    }
  }
}

}  // namespace headroom::platform_test
