#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "sim/fidelity/run_validation.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::measured_static_batches_test {
namespace {

using Catch::Matchers::Contains;

MeasuredRuns batches(const std::string& rows) {
  std::istringstream in(
      "hardware,num_hardware,framework,model,input_output_len,batch_size,latency_s,"
      "throughput_tok_s\n" +
      rows);
  MeasuredRuns runs;
  read_static_batches(in, "bench", Catalog::embedded(), runs);
  return runs;
}

const std::string kVllm7B = "Nvidia A100 GPU,1,vLLM,meta-llama/Llama-2-7b-hf,";

}  // namespace

TEST_CASE("measured batches: all rows at once, one length, the median of repeats") {
  const MeasuredRuns read = batches(kVllm7B + "128,16,2.0,0\n" + kVllm7B + "128,16,2.2,0\n");
  REQUIRE(read.runs.size() == 1);
  const MeasuredRun& run = read.runs[0];
  CHECK(run.data_set == "bench/vLLM llama-2-7b TP1/16x128");
  CHECK(run.scenario.engine.version == "0.5");
  REQUIRE(run.arrivals.size() == 16);
  CHECK(run.arrivals.back().time_ns == 0);
  CHECK(run.arrivals.back().prompt_tokens == 128);
  CHECK(run.arrivals.back().output_tokens == 128);
  // 16 x 128 tokens in the median of 2.0 and 2.2 s.
  REQUIRE(run.measured.size() == 1);
  CHECK(run.measured[0].name == "output_throughput");
  CHECK(run.measured[0].value == Approx(2048 / 2.1));
  // Two seconds are about what that batch takes.
  const ScoredRun scored = replay_and_score(run, Catalog::embedded(), "generic-sync-other");
  CHECK(scored.metrics[0].error() == Approx(0).margin(0.15));
}

TEST_CASE("measured batches: what did not run at once is left out") {
  const MeasuredRuns read = batches(
      // 64 x 4096 tokens of 512 KiB: 128 GiB.
      kVllm7B + "2048,64,316.1,0\n" +
      // Twice the length at 50.4 ms a token against 30.8: more than half as long again.
      kVllm7B + "256,64,7.88,0\n" + kVllm7B + "512,32,13.6,0\n" + kVllm7B + "256,32,3.5,0\n");
  REQUIRE(read.excluded.size() == 2);
  CHECK(read.excluded[0].data_set == "bench/vLLM llama-2-7b TP1/32x512");
  CHECK_THAT(read.excluded[0].why, Contains("run in several parts"));
  CHECK(read.excluded[1].why == "the pool does not hold the batch");
  CHECK(read.runs.size() == 2);
}

TEST_CASE("measured batches: other boards, engines and models are left out by name") {
  const MeasuredRuns read = batches(
      "AMD MI250 GPU,1,vLLM,meta-llama/Llama-2-7b-hf,128,1,2.0,0\n"
      "Nvidia A100 GPU,1,llama.cpp,meta-llama/Llama-2-7b-hf,128,1,2.0,0\n"
      "Nvidia A100 GPU,1,vLLM,Deci/DeciLM-7B,128,1,2.0,0\n"
      "Nvidia A100 GPU,4,TensorRT-LLM,mistralai/Mixtral-8x7B-v0.1,128,16,1.4,0\n");
  CHECK(read.runs.empty());
  REQUIRE(read.excluded.size() == 4);
  CHECK(read.excluded[0].why == "AMD MI250 GPU is not replayed");
  CHECK(read.excluded[1].why == "the 2024 release of llama.cpp is not modelled");
  CHECK(read.excluded[2].why == "Deci/DeciLM-7B is not in the catalog");
  CHECK(read.excluded[3].why == "faster than the device can read its experts");
  CHECK_THROWS_WITH(batches(kVllm7B + "128,16,0,0\n"),
                    Contains("bench/all_results.csv:2: latency_s: '0'"));
}

TEST_CASE("a row of measurements that stands twice is refused") {
  const std::string row = kVllm7B + "128,16,2.0,0\n";
  CHECK_THROWS_WITH(batches(row + kVllm7B + "128,32,3.0,0\n" + row),
                    "bench/all_results.csv:4: duplicate of line 2; expected each measurement "
                    "once");
}

TEST_CASE("published batches of 2024 are read") {
  const std::filesystem::path file = std::filesystem::path(HEADROOM_SHARED_DIR) /
                                     "groundtruth/argonne_llm_inference_bench/all_results.csv";
  std::ifstream in(file);
  if (!in) {
    WARN("skipped: no " << file.string());
    return;
  }
  MeasuredRuns read;
  read_static_batches(in, "argonne", Catalog::embedded(), read);
  CHECK(read.runs.size() > 350);
}

}  // namespace headroom::measured_static_batches_test
