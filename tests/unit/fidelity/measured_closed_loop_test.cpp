#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "sim/fidelity/run_validation.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::measured_closed_loop_test {
namespace {

using Catch::Matchers::Contains;

const std::string kHeader =
    "backend,backend_version,model_path,system,precision,mode,isl,osl,batch_size,tp_size,pp_size,"
    "attention_dp_size,moe_ep_size,silicon_ttft_ms,silicon_tpot_ms\n";
const std::string kLlama = "meta-llama/Llama-3.1-70B,h100_sxm,fp8,";

MeasuredRuns loops(const std::string& rows) {
  std::istringstream in(kHeader + rows);
  MeasuredRuns runs;
  read_closed_loops(in, "silicon", Catalog::embedded(), runs);
  return runs;
}

}  // namespace

TEST_CASE("measured loops: ten prompts a place, lengths of the law, the median of repeats") {
  const MeasuredRuns read = loops("vllm,," + kLlama + "agg,1000,100,4,4,1,1,1,80,11\n" +  //
                                  "vllm,," + kLlama + "agg,1000,100,4,4,1,1,1,80,13\n");
  REQUIRE(read.runs.size() == 1);
  const MeasuredRun& run = read.runs[0];
  CHECK(run.data_set == "silicon/h100-sxm vllm 0.11 llama-3.1-70b-fp8/TP4 1000x100 c004");
  CHECK(run.concurrency == 4);
  CHECK(run.scenario.engine.max_num_seqs == 4);
  REQUIRE(run.arrivals.size() == 40);
  for (const Arrival& arrival : run.arrivals) {
    CHECK(arrival.prompt_tokens >= 800);
    CHECK(arrival.prompt_tokens <= 1000);
    CHECK(arrival.output_tokens >= 80);
    CHECK(arrival.output_tokens <= 100);
  }
  REQUIRE(run.measured.size() == 1);
  CHECK(run.measured[0].name == "mean_tpot_ms");
  CHECK(run.measured[0].value == Approx(12));
  // The same file twice, the same lengths.
  const MeasuredRuns again = loops("vllm,," + kLlama + "agg,1000,100,4,4,1,1,1,80,11\n");
  CHECK(again.runs[0].arrivals[7].prompt_tokens == run.arrivals[7].prompt_tokens);
}

TEST_CASE("a closed loop sends the next request when one ends, never more at a time") {
  MeasuredRun run = loops("vllm,," + kLlama + "agg,1000,100,4,4,1,1,1,80,11\n").runs[0];
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

TEST_CASE("measured loops: what a run cannot price is left out by name") {
  const MeasuredRuns read = loops("vllm,," + kLlama + "disagg,1000,100,4,4,,,,80,11\n" +  //
                                  "vllm,," + kLlama + "agg,1000,100,4,4,1,,1,80,11\n" +   //
                                  "vllm,," + kLlama + "agg,1000,100,4,4,1,8,1,80,11\n" +  //
                                  "vllm,," + kLlama + "agg,1000,100,4,4,1,1,2,80,11\n" +  //
                                  "vllm,nightly-5b8c," + kLlama + "agg,1000,100,4,4,1,1,1,80,11\n" +
                                  "sglang,0.5.9," + kLlama + "agg,1000,100,4,4,1,1,1,80,11\n" +
                                  // 5 ms a token for 100 tokens, after 20 s of waiting.
                                  "vllm,," + kLlama + "agg,1000,100,512,4,1,1,1,20000,5\n" +
                                  // 64 x 8 k tokens of 160 KiB a device are 80 GiB.
                                  "vllm,," + kLlama + "agg,8192,1024,64,2,1,1,1,59000,52\n");
  CHECK(read.runs.empty());
  REQUIRE(read.excluded.size() == 8);
  CHECK(read.excluded[0].why == "prefill and decode run on separate devices");
  CHECK(read.excluded[1].why == "not from InferenceMAX: lengths and settings are not recorded");
  CHECK(read.excluded[2].why == "attention is data-parallel");
  CHECK(read.excluded[3].why == "the experts are on different ranks than the layers");
  CHECK(read.excluded[4].why == "a nightly build is not a release");
  CHECK(read.excluded[5].why == "sglang has no measured constants");
  CHECK_THAT(read.excluded[6].why, Contains("mostly waiting"));
  CHECK(read.excluded[7].why == "close to the size of the pool, which is not recorded");
}

TEST_CASE("measured loops: experts on the ranks, weights in four bits") {
  const MeasuredRuns read = loops(
      "vllm,0.19.0,MiniMaxAI/MiniMax-M2.5,b200_sxm,fp8,agg,1000,100,4,4,1,1,4,80,11\n"
      "trtllm,,meta-llama/Llama-3.1-70B,b200_sxm,fp4,agg,1000,100,4,2,1,1,1,80,11\n");
  REQUIRE(read.runs.size() == 2);
  CHECK(read.runs[0].data_set == "silicon/b200 trtllm 1.1 llama-3.1-70b-nvfp4/TP2 1000x100 c004");
  CHECK(read.runs[0].scenario.engine.quantization == "nvfp4");
  CHECK_FALSE(read.runs[0].scenario.engine.enable_expert_parallel);
  CHECK(read.runs[1].data_set == "silicon/b200 vllm 0.19 minimax-m2.5/TP4 EP 1000x100 c004");
  CHECK(read.runs[1].scenario.engine.enable_expert_parallel);
  CHECK(replay(read.runs[1], Catalog::embedded()).summary.requests.finished == 40);
}

TEST_CASE("published loops of InferenceMAX are read") {
  const std::filesystem::path file = std::filesystem::path(HEADROOM_SHARED_DIR) /
                                     "groundtruth/aiconfigurator_silicon/silicon_sample.csv";
  std::ifstream in(file);
  if (!in) {
    WARN("skipped: no " << file.string());
    return;
  }
  MeasuredRuns read;
  read_closed_loops(in, "silicon", Catalog::embedded(), read);
  CHECK(read.runs.size() > 500);
}

}  // namespace headroom::measured_closed_loop_test
