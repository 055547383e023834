#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "sim/fidelity/run_validation.hpp"

namespace headroom::measured_token_times_test {
namespace {

MeasuredRuns times(const std::string& rows) {
  std::istringstream in(
      "model,hardware,prompt_size,batch_size,token_size,peak_power,average_power,prompt_time,"
      "token_time,e2e_time,tensor_parallel\n" +
      rows);
  MeasuredRuns runs;
  read_token_times(in, "splitwise", Catalog::embedded(), runs);
  return runs;
}

}  // namespace

TEST_CASE("measured token times: one batch a point, prompts in one step, medians") {
  const MeasuredRuns read = times(
      "llama2-70b,a100-80gb,512,8,128,1,0.7,1600,61,9000,2\n"
      "llama2-70b,a100-80gb,512,8,128,1,0.7,1500,62,9000,2\n"
      "llama2-70b,a100-80gb,512,8,128,1,0.7,9999,99,9000,2\n");
  REQUIRE(read.runs.size() == 1);
  const MeasuredRun& run = read.runs[0];
  CHECK(run.data_set == "splitwise/a100-80 TP2/8x512/128");
  CHECK(run.arrivals.size() == 8);
  CHECK(run.measured[0].name == "mean_ttft_ms");
  CHECK(run.measured[0].value == 1600);
  CHECK(run.measured[1].name == "mean_tpot_ms");
  CHECK(run.measured[1].value == 62);
  // All eight prompts in one step: every request has its first token at the same time.
  const RunResult result = replay(run, Catalog::embedded());
  for (const RequestRecord& record : result.recorder->records()) {
    CHECK(record.first_token_ns == result.recorder->records()[0].first_token_ns);
  }
}

TEST_CASE("measured token times: impossible and unknown points are left out by name") {
  const MeasuredRuns read = times(
      "bloom-176b,a100-80gb,512,8,128,1,0.7,1600,61,9000,8\n"
      "llama2-70b,h100-80gb-pcap,512,8,128,1,0.7,1600,61,9000,8\n"
      "llama2-70b,a100-80gb,512,1,1024,1,0.7,1600,61,9000,8\n"
      "llama2-70b,a100-80gb,512,64,128,1,0.7,360,67,9000,2\n");
  CHECK(read.runs.empty());
  REQUIRE(read.excluded.size() == 4);
  CHECK(read.excluded[0].why == "bloom-176b is not in the catalog");
  CHECK(read.excluded[1].why == "the power of the board was capped");
  CHECK(read.excluded[2].why == "outputs ended early");
  CHECK(read.excluded[3].why == "a batch of 64 on two devices takes less time than one of 32");
}

TEST_CASE("published token times of 2023 are read") {
  const std::filesystem::path file =
      std::filesystem::path(HEADROOM_SHARED_DIR) / "groundtruth/splitwise_a100_h100/perf_model.csv";
  std::ifstream in(file);
  if (!in) {
    WARN("skipped: no " << file.string());
    return;
  }
  MeasuredRuns read;
  read_token_times(in, "splitwise", Catalog::embedded(), read);
  CHECK(read.runs.size() == 88);  // 15 points on 2, 4 and 8 of each device, less two
}

}  // namespace headroom::measured_token_times_test
