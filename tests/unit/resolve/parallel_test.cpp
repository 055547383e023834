#include "sim/resolve/parallel.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "scheduler/batching/sglang.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/resolve/run.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "tests/support/about.hpp"
#include "tests/support/temp_file.hpp"

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
const Settings kCutExperts = {"model=qwen3-30b-a3b", "engine.tensor_parallel_size=2",
                              "engine.data_parallel_size=2", "workload.num_requests=200"};

// Attention by data ranks.
const Settings kTurns = {
    "model=qwen3-30b-a3b",
    R"(engine={"name": "sglang", "data_parallel_size": 4, "enable_expert_parallel": true})",
    "workload.num_requests=200"};

test::About refused(const Settings& set) {
  return test::about([&] { return resolved(set); });
}

Settings with(Settings set, const std::string& more) {
  set.push_back(more);
  return set;
}

}  // namespace

TEST_CASE("jumps equal single steps with pipeline stages and with data ranks") {
  for (const Settings& set : {kStages, kExperts, kCutExperts, kTurns}) {
    const RunResult jumped = demo(set);
    CHECK(jumped.summary.requests.finished == 200);
    CHECK(jumped.digest == demo(set, true).digest);
  }
}

TEST_CASE("stages take a budget into a micro-batch, and ranks one each into a step") {
  const Resolved stages = resolved(with(kStages, "engine.max_num_batched_tokens=512"));
  CHECK(step_limits(stages).max_num_batched_tokens == 512);
  CHECK(step_limits(stages).max_num_seqs == stages.max_num_seqs);  // of all micro-batches
  CHECK(replica_options(stages).pipeline_depth == 1);
  CHECK(replica_options(stages).pipeline_stages == 4);
  const Resolved ranks = resolved(with(kExperts, "engine.max_num_batched_tokens=512"));
  CHECK(step_limits(ranks).max_num_batched_tokens == 4 * 512);
  CHECK(step_limits(ranks).max_num_seqs == 4 * ranks.max_num_seqs);
  CHECK(scheduler_options(ranks).max_num_batched_tokens == 512);  // of a rank
  CHECK(scheduler_options(ranks).max_num_seqs == std::min(512, ranks.max_num_seqs));
  CHECK(replica_options(ranks).pipeline_depth == 2);
  const Resolved orca =
      resolved({"model=llama-3.1-70b", R"(engine={"name":"orca","pipeline_parallel_size":4})"});
  CHECK(step_limits(orca).max_num_seqs == 4 * orca.max_num_seqs);
  CHECK(scheduler_options(orca).max_micro_batch_seqs == orca.max_num_seqs);
}

// With a budget of 2048 that of a prompt of 8192 are four micro-batches: the last one leaves three
// stage times behind the first.
TEST_CASE("a prompt fills one micro-batch after another") {
  const auto ttft_ms = [](int tokens) {
    const std::string workload =
        R"(workload={"num_requests": 1, "prompt": {"law": "fixed", "tokens": )" +
        std::to_string(tokens) +
        R"(}, "output": {"law": "fixed", "tokens": 1}, "arrivals": {"process": "all_at_once"}})";
    return demo({"model=llama-3.1-70b",
                 R"(engine={"name": "vllm", "version": "0.19", "pipeline_parallel_size": 4,
                            "max_num_batched_tokens": 2048})",
                 workload})
        .summary.metrics.mean_ttft_ms;
  };
  const double one = ttft_ms(2048);
  CHECK(ttft_ms(1024) < 0.7 * one);
  CHECK(ttft_ms(2049) > one);
  CHECK(ttft_ms(2049) < 1.2 * one);  // the second micro-batch reads the weights once more
  // Later chunks read more context.
  CHECK(ttft_ms(8192) > 1.75 * one);
  CHECK(ttft_ms(8192) < 2 * one);
}

TEST_CASE("ranks share a context where each has a copy of the keys to give up") {
  const auto on = [](const char* model, const char* context, const char* version = "0.19") {
    return Settings{std::string("model=") + model, "device=h200-sxm",
                    "engine.tensor_parallel_size=8",
                    std::string("engine.decode_context_parallel_size=") + context,
                    std::string("engine.version=") + version};
  };
  const auto wrong = test::value_at("/engine/decode_context_parallel_size");
  CHECK(refused(on("deepseek-v3", "3")) == wrong);   // no divisor
  CHECK(refused(on("llama-3.1-8b", "2")) == wrong);  // eight key heads on eight ranks
  CHECK(refused(on("gpt-oss-20b", "2")) == wrong);   // windows
  CHECK(refused(on("deepseek-v3", "2", "0.9")) == wrong);
  CHECK(resolved(on("deepseek-v3", "8")).sharding.context == 8);
  CHECK(resolved(on("qwen3-235b-a22b", "2")).sharding.context == 2);  // four key heads
}

TEST_CASE("ranks of one context read a part of it each, which is not all that it costs") {
  const Settings copies = {"model=deepseek-v2-lite", "engine.tensor_parallel_size=4",
                           "cost.level=calibrated"};
  const Settings parts = with(copies, "engine.decode_context_parallel_size=4");
  const std::vector<std::string> warnings = parallel_warnings(resolved(parts));
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings.front(), Catch::Matchers::Contains("not priced"));
  CHECK(parallel_warnings(resolved(copies)).empty());
  CHECK(refused(with({parts[0], parts[1], parts[3]}, "cost.level=kernels")) ==
        test::unsupported_at("/engine/decode_context_parallel_size"));
}

TEST_CASE("data ranks have a pool each, and a request fits into one of them") {
  const RunResult result = demo(kExperts);
  const RunResult one = demo({"model=qwen3-30b-a3b", "workload.num_requests=1"});
  // A rank holds a quarter of the experts, so its pool is larger than that of a whole model.
  CHECK(result.pool_tokens > 4 * one.pool_tokens);
  CHECK(result.expected_error.ranges.empty());  // no measured run had data ranks of this model
}

// The step of eight ranks of DeepSeek-V3 that computes the prompts of `rows` (arrival, prompt,
// output of one token), which are handed to the engine together.
double first_step_s(const std::string& rows) {
  const TempFile trace("arrival_ns,prompt_tokens,output_tokens,max_tokens\n" + rows);
  const RunResult result = demo(
      {"model=deepseek-v3", "device=h200-sxm", "engine.data_parallel_size=8",
       "engine.enable_expert_parallel=true", "engine.max_model_len=16384",
       "engine.api_server_count=0", R"(workload={"trace": {"file": ")" + trace.path() + R"("}})"});
  CHECK(result.summary.engine.steps == 1);
  return result.summary.engine.busy_s;
}

// What 112 tokens more add is their part of the experts and of what is sent: not an eighth of the
// prompt is taken off its rank.
TEST_CASE("a prompt takes as long beside short ones on other ranks as alone") {
  const std::string prompt = "0,2048,1,1\n";
  const double alone = first_step_s(prompt);
  std::string rows = prompt;
  for (int i = 0; i < 7; ++i) rows += "0,16,1,1\n";
  const double beside = first_step_s(rows);
  CHECK(beside > alone);
  CHECK(beside < 1.05 * alone);
  // Two such prompts are on two ranks, and the experts compute twice as many tokens.
  const double both = first_step_s(prompt + prompt);
  CHECK(both > beside);
  CHECK(both < 1.7 * alone);
}

// 24 requests that begin alike, far apart: with one front end every one goes to the first rank and
// finds the beginning there, with four it is computed once on each rank.
TEST_CASE("a prefix is found on the rank that has computed it") {
  const auto computed = [](const std::string& front_ends) {
    Settings set = kExperts;
    set.emplace_back("engine.api_server_count=" + front_ends);
    set.emplace_back(R"(workload={"num_requests": 24, "prompt": {"law": "fixed", "tokens": 1000},
        "output": {"law": "fixed", "tokens": 2},
        "system_prompts": {"count": 1, "tokens": {"law": "fixed", "tokens": 800}},
        "arrivals": {"process": "constant", "request_rate": 0.5}})");
    return demo(set).summary.engine.prefix_cache_hits;
  };
  CHECK(computed("1") == 23 * 800);
  CHECK(computed("4") == 20 * 800);
}

TEST_CASE("a step that no clock holds is refused by the options behind it") {
  // 8192 tokens of 16 KiB, two sums in each of 80 layers: 21 GB and more over 1 MB/s.
  CHECK_THROWS_WITH(demo({"model=llama-3.1-70b", "engine.tensor_parallel_size=8",
                          "device.per_node=1", "device.nic_gb_per_s=0.001"}),
                    Catch::Contains("73 minutes") && Catch::Contains("device.nic_gb_per_s"));
}

TEST_CASE("what a window needs is counted by the chunk of a prompt, not by all that is in flight") {
  // 2000 ids. Of 17500 tokens the full layers take 1094, a window of 128 with chunks of 8192
  // ceil((127 + 8192) / 16) + 1 = 521; with chunks of 16384 it would be 1033.
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
  const auto sglang = R"(engine={"name":"sglang","pipeline_parallel_size":2})";
  CHECK(refused({sglang}) == test::unsupported_at("/engine/pipeline_parallel_size"));
  CHECK(refused({"engine.data_parallel_size=2"}) ==
        test::conflict_at("/engine/data_parallel_size"));
  CHECK(refused({"engine.enable_expert_parallel=true"}) ==
        test::no_effect_at("/engine/enable_expert_parallel"));
  CHECK(refused({"model=qwen3-30b-a3b", "engine.enable_expert_parallel=true"}) ==
        test::no_effect_at("/engine/enable_expert_parallel"));
  CHECK(refused(with(kExperts, "engine.pipeline_parallel_size=2")) ==
        test::conflict_at("/engine/pipeline_parallel_size"));
  CHECK(refused(with(kStages, "cost.level=affine")) ==
        test::conflict_at("/engine/pipeline_parallel_size"));
  CHECK(refused({"engine.tensor_parallel_size=8", "cost.level=affine", "device.per_node=4",
                 "device.nic_gb_per_s=1"}) == test::no_effect_at("/device/per_node"));
  CHECK(refused({"engine.pipeline_parallel_size=64"}) ==
        test::value_at("/engine/pipeline_parallel_size"));
  CHECK(refused({"model=qwen3-30b-a3b", "engine.data_parallel_size=256",
                 "engine.enable_expert_parallel=true"}) ==
        test::value_at("/engine/enable_expert_parallel"));
  CHECK(refused(with(kStages, R"(engine.speculative_config={"method":"ngram"})")) ==
        test::unsupported_at("/engine/pipeline_parallel_size"));
  CHECK(refused(with(kStages, "engine.enable_lora=true")) ==
        test::unsupported_at("/engine/pipeline_parallel_size"));
  CHECK(refused(with(kExperts, "engine.kv_offloading_size_gib=8")) ==
        test::conflict_at("/engine/data_parallel_size"));
  CHECK(refused({"model=qwen3-30b-a3b", "engine.data_parallel_size=512"}) ==
        test::value_at("/engine/data_parallel_size"));  // of 768
}

TEST_CASE("settings of ranks and nodes without effect are refused") {
  CHECK(refused({"device.per_node=4"}) == test::no_effect_at("/device/per_node"));
  CHECK(refused(with(kStages, "device.nic_gb_per_s=25")) ==
        test::no_effect_at("/device/nic_gb_per_s"));
  CHECK(refused(with(kStages, "engine.all2all_backend=deepep_low_latency")) ==
        test::no_effect_at("/engine/all2all_backend"));
  CHECK(refused(with(kCutExperts, "engine.all2all_backend=deepep_low_latency")) ==
        test::no_effect_at("/engine/all2all_backend"));
  CHECK(refused(with(kStages, "cost.expert_load_factor=2")) ==
        test::no_effect_at("/cost/expert_load_factor"));
  Settings nodes = with(kStages, "device.per_node=2");
  nodes.emplace_back("device.nic_gb_per_s=25");
  CHECK(refused(nodes) == test::no_error());
}

TEST_CASE("experts with scales of blocks are cut between blocks alone") {
  const auto about = [](const Settings& more) {
    Settings set{"model=qwen3-235b-a22b-fp8"};
    set.insert(set.end(), more.begin(), more.end());
    return refused(set);
  };
  // 1,536 by 8 is one block and a half.
  CHECK(about({"engine.tensor_parallel_size=8"}).pointer == "/engine/tensor_parallel_size");
  CHECK(about({"engine.tensor_parallel_size=4"}) == test::no_error());
  CHECK(about({"engine.tensor_parallel_size=8", "engine.enable_expert_parallel=true"}) ==
        test::no_error());
}

TEST_CASE("measured kernels leave links between nodes and uneven experts to the roofline") {
  const auto level = [](const Settings& set) { return resolved(set).scenario.cost.level; };
  const Settings ranks{"model=qwen3-30b-a3b", "engine.tensor_parallel_size=8",
                       "engine.enable_expert_parallel=true"};
  CHECK(level(ranks) == "kernels");
  CHECK(level(with(ranks, "cost.expert_load_factor=2")) == "calibrated");
  CHECK(level(with(ranks, "device.per_node=8")) == "kernels");  // says what is so without it
  CHECK(level(with(ranks, "device.per_node=4")) == "calibrated");
  const Settings named = with(ranks, "cost.level=kernels");
  CHECK(refused(named) == test::no_error());
  CHECK(refused(with(named, "cost.expert_load_factor=2")) ==
        test::no_effect_at("/cost/expert_load_factor"));
  CHECK(refused({"model=llama-3.1-70b", "engine.tensor_parallel_size=16", "cost.level=kernels"}) ==
        test::unsupported_at("/cost/level"));
  CHECK(resolved({"model=llama-3.1-70b", "engine.tensor_parallel_size=16"}).scenario.cost.level ==
        "calibrated");
}

TEST_CASE("ranks that compute prompts together are an option of several ranks") {
  const Settings one{"engine={\"name\": \"trtllm\", \"attention_dp_enable_balance\": true}"};
  CHECK(refused(one) == test::no_effect_at("/engine/attention_dp_enable_balance"));
  const Settings alone{"engine={\"name\": \"trtllm\", \"attention_dp_time_out_iters\": 9}"};
  CHECK(refused(alone) == test::no_effect_at("/engine/attention_dp_time_out_iters"));
}

TEST_CASE("data ranks of SGLang are careful by 0.3 of what is given, and choose by its option") {
  const auto own = [](const Settings& set) {
    return scheduler_options(resolved(set)).own.get<SglangScheduling>();
  };
  CHECK(own(kTurns).conservativeness_factor == 0.3);
  CHECK(own({R"(engine={"name": "sglang"})"}).conservativeness_factor == 1);
  CHECK(refused({R"(engine={"name": "sglang", "load_balance_method": "total_tokens"})"}) ==
        test::no_effect_at("/engine/load_balance_method"));
  const auto first = [](const char* method) {
    return demo(with(kTurns, fmt::format("engine.load_balance_method={}", method))).digest;
  };
  CHECK(first("round_robin") == demo(kTurns).digest);
  CHECK(first("total_requests") != first("round_robin"));
  CHECK(first("total_tokens") != first("total_requests"));
}

TEST_CASE("slower ports make stages on other nodes slower, and uneven experts their ranks") {
  const auto tpot = [](const Settings& set) {
    return demo(with(set, "cost.level=calibrated")).summary.metrics.mean_tpot_ms;
  };
  const Settings nodes = with(kStages, "device.per_node=1");
  CHECK(tpot(with(nodes, "device.nic_latency_us=500")) > tpot(nodes));
  CHECK(tpot(nodes) > tpot(kStages));
  CHECK(tpot(with(kExperts, "cost.expert_load_factor=8")) > tpot(kExperts));
  // Equal shares: a prompt on one rank alone is sent out faster by a ring of all.
  const Settings even = with(kExperts, R"(workload={"num_requests": 64,
      "prompt": {"law": "fixed", "tokens": 1}, "output": {"law": "fixed", "tokens": 50},
      "arrivals": {"process": "all_at_once"}})");
  CHECK(tpot(with(even, "engine.all2all_backend=deepep_low_latency")) < tpot(even));
}

}  // namespace headroom::parallel_test
