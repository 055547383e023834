#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "scheduler/batching/trtllm.hpp"
#include "sim/fidelity/run_validation.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::measured_closed_loop_test {
namespace {

using Catch::Matchers::Contains;

const std::string kHeader =
    "id,backend,backend_version,model_path,system,precision,mode,isl,osl,batch_size,tp_size,"
    "attention_dp_size,moe_tp_size,moe_ep_size,silicon_ttft_ms,silicon_tpot_ms\n";
const std::string kRecipes = "id,measured,script_state,server,config,env\n";
const std::string kLlama = "meta-llama/Llama-3.1-70B,h100_sxm,fp8,";
const std::string kServe =
    "vllm serve meta-llama/Llama-3.1-70B --tensor-parallel-size=4 --max-num-seqs 4";

MeasuredRuns loops(const std::string& rows, const std::string& recipes) {
  std::istringstream sample(kHeader + rows);
  std::istringstream commands(kRecipes + recipes);
  MeasuredRuns runs;
  read_closed_loops(sample, commands, "silicon", Catalog::embedded(), runs);
  return runs;
}

std::string vllm_row(const std::string& id, const std::string& tpot_ms) {
  return id + ",vllm,0.15.1," + kLlama + "agg,1000,100,4,4,1,1,1,80," + tpot_ms + "\n";
}
std::string recipe(const std::string& id, const std::string& state = "of that day") {
  return id + ",2026-01-01," + state + "," + kServe + ",,\n";
}

}  // namespace

TEST_CASE("measured loops: ten prompts a place, lengths of the law, the median of repeats") {
  const MeasuredRuns read =
      loops(vllm_row("a", "11") + vllm_row("b", "13"), recipe("a") + recipe("b"));
  REQUIRE(read.runs.size() == 1);
  const MeasuredRun& run = read.runs[0];
  CHECK(run.data_set == "silicon/h100-sxm vllm 0.15.1 Llama-3.1-70B fp8/TP4 1000x100 c004");
  CHECK(run.concurrency == 4);
  CHECK(run.scenario.engine.max_num_seqs == 4);
  CHECK(run.scenario.engine.version == "0.15");
  CHECK(run.scenario.engine.quantization == "fp8");
  CHECK(run.scenario.device.name == "h100-sxm");
  CHECK_FALSE(run.settings_differ);
  REQUIRE(run.arrivals.size() == 40);
  for (const Arrival& arrival : run.arrivals) {
    CHECK(arrival.prompt_tokens >= 800);
    CHECK(arrival.prompt_tokens <= 1000);
    CHECK(arrival.output_tokens >= 80);
    CHECK(arrival.output_tokens <= 100);
  }
  REQUIRE(run.measured.size() == 2);
  CHECK(run.measured[0].name == "mean_ttft_ms");
  CHECK(run.measured[0].value == Approx(80));
  CHECK(run.measured[1].name == "mean_tpot_ms");
  CHECK(run.measured[1].value == Approx(12));
  // The same file twice, the same lengths.
  const MeasuredRuns again = loops(vllm_row("a", "11"), recipe("a"));
  CHECK(again.runs[0].arrivals[7].prompt_tokens == run.arrivals[7].prompt_tokens);
}

TEST_CASE("a closed loop sends the next request when one ends, never more at a time") {
  const MeasuredRun run = loops(vllm_row("a", "11"), recipe("a")).runs[0];
  const RunResult result = replay(run, Catalog::embedded());
  const auto records = result.recorder->records();
  REQUIRE(records.size() == 40);
  for (std::size_t i = 0; i < records.size(); ++i) {
    // In the order of arrival: those before it that have not ended yet when it comes.
    std::size_t before = 0;
    bool at_an_end = i < 4 && records[i].arrival_ns == 0;
    for (std::size_t k = 0; k < records.size(); ++k) {
      if (k < i && records[k].finish_ns > records[i].arrival_ns) ++before;
      at_an_end = at_an_end || records[k].finish_ns == records[i].arrival_ns;
    }
    CHECK(before <= 3);
    CHECK(at_an_end);
  }
}

TEST_CASE("measured loops: settings files and variables of the command are read") {
  const MeasuredRuns read = loops(
      "t,trtllm,1.2.0rc6.post2,deepseek-ai/DeepSeek-R1,b200_sxm,fp4,agg,1000,100,4,8,1,1,8,80,11\n"
      "s,sglang,0.5.9,deepseek-ai/DeepSeek-R1,b200_sxm,fp4,agg,1000,100,4,16,1,1,4,80,11\n"
      "g,vllm,0.19.0,openai/gpt-oss-120b,b200_sxm,fp4,agg,1000,100,4,1,1,1,1,80,11\n",
      "t,2026-02-03,of that day,trtllm-serve deepseek-ai/DeepSeek-R1 --max_num_tokens=8192 "
      "--tp_size=8 --ep_size=8 --extra_llm_api_options=a.yml,\"a.yml:\nbatch_wait_timeout_iters: "
      "20\nkv_cache_config:\n    dtype: fp8\",\n"
      "s,2026-03-25,last before it was removed,python3 -m sglang.launch_server --model-path "
      "deepseek-ai/DeepSeek-R1 --tensor-parallel-size=16 --ep-size 4,,\n"
      "g,2026-03-25,of that day,vllm serve openai/gpt-oss-120b,,A='{\"\" "
      "VLLM_MXFP4_USE_MARLIN=1\n");
  REQUIRE(read.runs.size() == 3);
  const MeasuredRun& trtllm = read.runs[1];
  CHECK(trtllm.scenario.engine.name == "trtllm");
  CHECK(trtllm.scenario.engine.version == "1.2");
  CHECK(trtllm.scenario.engine.kv_cache_dtype == "fp8");
  CHECK(trtllm.scenario.engine.quantization == "nvfp4");
  CHECK(trtllm.scenario.engine.own.get<TrtllmScheduling>().batch_wait_timeout_iters == 20);
  const MeasuredRun& gpt = read.runs[2];
  CHECK(gpt.scenario.engine.quantization == "auto");  // its own four bits
  // Ranks of experts that the table counts twice.
  const MeasuredRun& sglang = read.runs[0];
  CHECK(sglang.scenario.engine.tensor_parallel_size == 4);
  CHECK(sglang.settings_differ);
}

TEST_CASE("measured loops: attention by data ranks, whose ranks the table counts twice") {
  const std::string recipe =
      "2026-02-03,of that day,trtllm-serve deepseek-ai/DeepSeek-R1 --tp_size=1 --ep_size=8 "
      "--extra_llm_api_options=a.yml,\"a.yml:\nenable_attention_dp: true\nattention_dp_config:\n"
      "    enable_balance: true\n    timeout_iters: 60\n    batching_wait_iters: 0\",\n";
  const std::string row = ",trtllm,1.2.0,deepseek-ai/DeepSeek-R1,b200_sxm,fp4,agg,1000,100,";
  const MeasuredRuns read = loops("a" + row + "8,1,64,8,8,80,11\nb" + row + "64,1,8,1,8,81,12\n",
                                  "a," + recipe + "b," + recipe);
  REQUIRE(read.runs.size() == 1);  // of one command and load
  const EngineSection& engine = read.runs[0].scenario.engine;
  CHECK(engine.tensor_parallel_size == 1);
  CHECK(engine.data_parallel_size == 8);
  CHECK(engine.enable_expert_parallel);
  CHECK(read.runs[0].concurrency == 512);
  const auto& own = engine.own.get<TrtllmScheduling>();
  CHECK(own.attention_dp_enable_balance);
  CHECK(own.attention_dp_time_out_iters == 60);
  CHECK(own.attention_dp_batching_wait_iters == 0);
}

TEST_CASE("measured loops: what a run cannot price is left out by name") {
  const MeasuredRuns read = loops(
      "a,vllm,0.15.1," + kLlama + "disagg,1000,100,4,4,,1,1,80,11\n" +       //
          "none,vllm,0.15.1," + kLlama + "agg,1000,100,4,4,1,1,1,80,11\n" +  //
          "a,vllm,0.15.1," + kLlama + "agg,1000,100,4,4,8,1,1,80,11\n" +     //
          "a,vllm,0.15.1," + kLlama + "agg,1000,100,4,16,1,1,2,80,11\n" +    //
          "a,vllm,0.15.1,meta-llama/Llama-3.1-70B,v9,fp8,agg,1000,100,4,4,1,1,1,80,11\n" +
          // 5 ms a token for 100 tokens, after 20 s of waiting.
          "a,vllm,0.15.1," + kLlama + "agg,1000,100,512,4,1,1,1,20000,5\n" +
          "a,sglang,0.5.9,deepseek-ai/DeepSeek-R1,b200_sxm,fp8,agg,1000,100,4,8,1,1,1,80,11\n" +
          "b,vllm,0.15.1," + kLlama + "agg,1000,100,8,4,1,1,1,80,11\n" + "c,vllm,0.15.1," + kLlama +
          "agg,1000,100,9,4,1,1,1,80,11\n" + "a,vllm,0.15.1," + kLlama +
          "agg,1000,100,4,64,1,1,1e15,80,11\n",
      recipe("a") + "b,2026-01-01,of that day,vllm serve no/such --max-num-seqs 4,,\n" +
          "c,2026-01-01,of that day,python -m vllm.entrypoints.openai.api_server "
          "--max-num-seqs 4,,\n");
  REQUIRE(read.runs.size() == 1);  // of a name that only a replay looks up
  CHECK(read.runs[0].scenario.model == "no/such");
  REQUIRE(read.excluded.size() == 9);
  CHECK(read.excluded[0].why == "prefill and decode run on separate devices");
  CHECK(read.excluded[1].why == "the server's command is not recorded");
  CHECK(read.excluded[2].why == "label and command differ about attention by data ranks");
  CHECK(read.excluded[3].why == "several nodes are not replayed");
  CHECK(read.excluded[4].why == "v9 is not in the catalog");
  CHECK(read.excluded[5].why == "the server took fewer requests at a time than its command");
  CHECK(read.excluded[6].why == "timed with speculative decoding, which the command lacks");
  CHECK(read.excluded[7].why == "several nodes are not replayed");
  CHECK_THAT(read.excluded[8].why, Contains("the command names no model"));
  CHECK_THROWS_WITH(loops(vllm_row("a", "11"), recipe("a") + recipe("a")),
                    Contains("silicon/recipes.csv:3: id a stands above, too"));
  CHECK_THROWS_WITH(loops(vllm_row("a", "11"), "a,2026-01-01,of that day," + kServe + ",x,\n"),
                    Contains("silicon/recipes.csv:2: config: expected NAME:"));
}

TEST_CASE("published loops of InferenceX are read", "[large]") {
  const std::filesystem::path folder =
      std::filesystem::path(HEADROOM_SHARED_DIR) / "groundtruth/aiconfigurator_silicon";
  std::ifstream sample(folder / "silicon_sample.csv");
  std::ifstream recipes(folder / "recipes.csv");
  if (!sample || !recipes) {
    WARN("skipped: no " << folder.string());
    return;
  }
  MeasuredRuns read;
  read_closed_loops(sample, recipes, "silicon", Catalog::embedded(), read);
  CHECK(read.runs.size() > 1000);
}

}  // namespace headroom::measured_closed_loop_test
