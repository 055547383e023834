#include "sim/setup/parallel.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/setup/run.hpp"
#include "sim/setup/scenario_file.hpp"

namespace headroom::parallel_test {
namespace {

using Settings = std::vector<std::string>;

RunResult demo(Settings set, bool single_step = false) {
  ScenarioFlags flags;
  flags.set = std::move(set);
  flags.single_step = single_step;
  return run(load_scenario("demo", flags), Catalog::embedded());
}

Resolved resolved(Settings set) {
  ScenarioFlags flags;
  flags.set = std::move(set);
  return resolve(load_scenario("demo", flags), Catalog::embedded());
}

const Settings kStages = {"model=llama-3.1-70b", "engine.pipeline_parallel_size=4",
                          "workload.num_requests=200"};
const Settings kExperts = {"model=qwen3-30b-a3b", "engine.data_parallel_size=4",
                           "engine.enable_expert_parallel=true", "workload.num_requests=200"};

Settings with(Settings set, const std::string& more) {
  set.push_back(more);
  return set;
}

}  // namespace

TEST_CASE("jumps equal single steps with pipeline stages and with data ranks") {
  for (const Settings& set : {kStages, kExperts}) {
    const RunResult jumped = demo(set);
    CHECK(jumped.summary.requests.finished == 200);
    CHECK(jumped.digest == demo(set, true).digest);
  }
}

TEST_CASE("stages and ranks take a budget each into one step") {
  const Resolved stages = resolved(with(kStages, "engine.max_num_batched_tokens=512"));
  CHECK(step_limits(stages).max_num_batched_tokens == 4 * 512);
  CHECK(step_limits(stages).max_num_seqs == stages.max_num_seqs);  // of all micro-batches
  CHECK(replica_options(stages).pipeline_depth == 1);
  const Resolved ranks = resolved(with(kExperts, "engine.max_num_batched_tokens=512"));
  CHECK(step_limits(ranks).max_num_batched_tokens == 4 * 512);
  CHECK(step_limits(ranks).max_num_seqs == 4 * ranks.max_num_seqs);
  CHECK(scheduler_options(ranks).long_prefill_token_threshold == 512);  // a prompt is on one rank
  CHECK(replica_options(ranks).pipeline_depth == 2);
  const Resolved orca =
      resolved({"model=llama-3.1-70b", R"(engine={"name":"orca","pipeline_parallel_size":4})"});
  CHECK(step_limits(orca).max_num_seqs == 4 * orca.max_num_seqs);
}

TEST_CASE("data ranks have a pool each, and a request fits into one of them") {
  const RunResult result = demo(kExperts);
  const RunResult one = demo({"model=qwen3-30b-a3b", "workload.num_requests=1"});
  // A rank holds a quarter of the experts, so its pool is larger than that of a whole model.
  CHECK(result.pool_tokens > 4 * one.pool_tokens);
  CHECK(result.expected_error.situation == "uncalibrated");
}

TEST_CASE("a step that no clock holds is refused by the options behind it") {
  // 8192 tokens of 16 KiB, two sums in each of 80 layers: 21 GB and more over 1 MB/s.
  CHECK_THROWS_WITH(demo({"model=llama-3.1-70b", "engine.tensor_parallel_size=8",
                          "device.per_node=1", "device.nic_gb_per_s=0.001"}),
                    Catch::Contains("73 minutes") && Catch::Contains("device.nic_gb_per_s"));
}

TEST_CASE("what a window needs is counted by the chunk of a prompt, not by the step of all ranks") {
  // 2000 ids. Of 17500 tokens the full layers take 1094, a window of 128 with chunks of 8192
  // ceil((127 + 8192) / 16) + 1 = 521; with chunks of 16384, as two stages have them, 1033.
  for (const char* split : {R"("data_parallel_size": 8, "enable_expert_parallel": true)",
                            R"("pipeline_parallel_size": 2)"}) {
    const RunResult result =
        demo({"model=gpt-oss-20b",
              std::string(R"(engine={"name": "vllm", "version": "0.19", "max_model_len": 17600,
          "max_num_batched_tokens": 8192, "num_gpu_blocks_override": 2000, )") +
                  split + "}",
              R"(workload={"num_requests": 3, "prompt": {"law": "fixed", "tokens": 17500},
          "output": {"law": "fixed", "tokens": 50}, "arrivals": {"process": "all_at_once"}})"});
    CAPTURE(split);
    CHECK(result.summary.requests.finished == 3);
  }
}

TEST_CASE("stages and ranks that a run does not know are refused by what would be needed") {
  const auto refused = [](Settings set) { static_cast<void>(resolved(std::move(set))); };
  using Catch::Matchers::Contains;
  const auto sglang = R"(engine={"name":"sglang","pipeline_parallel_size":2})";
  CHECK_THROWS_WITH(refused({sglang}), Contains("/engine/pipeline_parallel_size: a run knows"));
  CHECK_THROWS_WITH(refused({"engine.data_parallel_size=2"}), Contains("share no experts"));
  CHECK_THROWS_WITH(refused({"engine.enable_expert_parallel=true"}), Contains("has no experts"));
  CHECK_THROWS_WITH(refused({"model=qwen3-30b-a3b", "engine.enable_expert_parallel=true"}),
                    Contains("one rank holds every expert"));
  CHECK_THROWS_WITH(refused(with(kExperts, "engine.pipeline_parallel_size=2")),
                    Contains("not both together"));
  CHECK_THROWS_WITH(refused(with(kStages, "cost.level=affine")), Contains("affine"));
  CHECK_THROWS_WITH(refused({"engine.tensor_parallel_size=8", "cost.level=affine",
                             "device.per_node=4", "device.nic_gb_per_s=1"}),
                    Contains("/device/per_node: has no effect: cost level affine"));
  CHECK_THROWS_WITH(refused({"engine.pipeline_parallel_size=64"}),
                    Contains("/engine/pipeline_parallel_size: pipeline_parallel_size 64"));
  CHECK_THROWS_WITH(refused({"model=qwen3-30b-a3b", "engine.data_parallel_size=256",
                             "engine.enable_expert_parallel=true"}),
                    Contains("/engine/enable_expert_parallel: expert parallelism over 256 ranks"));
  CHECK_THROWS_WITH(refused(with(kStages, R"(engine.speculative_config={"method":"ngram"})")),
                    Contains("speculative decoding"));
  CHECK_THROWS_WITH(refused(with(kStages, "engine.enable_lora=true")), Contains("LoRA"));
  CHECK_THROWS_WITH(refused(with(kExperts, "engine.kv_offloading_size_gib=8")),
                    Contains("second tier"));
}

TEST_CASE("settings of ranks and nodes without effect are refused") {
  const auto refused = [](Settings set) { static_cast<void>(resolved(std::move(set))); };
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(refused({"device.per_node=4"}), Contains("/device/per_node: has no effect"));
  CHECK_THROWS_WITH(refused(with(kStages, "device.nic_gb_per_s=25")),
                    Contains("4 devices are on one node"));
  CHECK_THROWS_WITH(refused(with(kStages, "engine.all2all_backend=deepep_low_latency")),
                    Contains("one data rank"));
  CHECK_THROWS_WITH(refused(with(kStages, "cost.expert_load_factor=2")),
                    Contains("/cost/expert_load_factor"));
  Settings nodes = with(kStages, "device.per_node=2");
  nodes.emplace_back("device.nic_gb_per_s=25");
  CHECK_NOTHROW(refused(nodes));
}

TEST_CASE("slower ports make stages on other nodes slower, and uneven experts their ranks") {
  const auto tpot = [](const Settings& set) { return demo(set).summary.metrics.mean_tpot_ms; };
  const Settings nodes = with(kStages, "device.per_node=1");
  CHECK(tpot(with(nodes, "device.nic_latency_us=500")) > tpot(nodes));
  CHECK(tpot(nodes) > tpot(kStages));
  CHECK(tpot(with(kExperts, "cost.expert_load_factor=8")) > tpot(kExperts));
  CHECK(tpot(with(kExperts, "engine.all2all_backend=deepep_low_latency")) < tpot(kExperts));
}

}  // namespace headroom::parallel_test
