#include "sim/fidelity/run_validation.hpp"
#include "sim/engines/trtllm/engine.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/report/text/run_validation_report.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::run_validation_test {
namespace {

using Catch::Matchers::Contains;

const std::string kStages =
    "stage_id,model,tp,max_model_len,max_num_batched_tokens,max_num_seqs,rate_req_s,sent,"
    "prompt_len_mean,output_len_mean,ttft_mean_s,ttft_median_s,e2e_mean_s\n";
const std::string kJobs = "model,gpu,tp,pp,precision,isl,osl,total_output_tok_s,num_requests\n";

MeasuredRuns stages(const std::string& rows) {
  std::istringstream in(kStages + rows);
  MeasuredRuns runs;
  read_load_stages(in, "h100", Catalog::embedded(), runs);
  return runs;
}

MeasuredRuns jobs(const std::string& rows) {
  std::istringstream in(kJobs + rows);
  MeasuredRuns runs;
  read_max_throughput(in, "overview", Catalog::embedded(), runs);
  return runs;
}

TEST_CASE("measured stages: uniform gaps, a hundred prompts in turn, means in ms") {
  const MeasuredRuns read = stages(
      "a/stage_0,meta-llama/Llama-2-7b-hf,1,4096,2048,128,5,300,591.6,101,0.025,0.02,1.525\n");
  REQUIRE(read.runs.size() == 1);
  const MeasuredRun& run = read.runs[0];
  CHECK(run.data_set == "h100/a/stage_0");
  CHECK(run.scenario.engine.version == "0.15");
  REQUIRE(run.arrivals.size() == 300);
  CHECK(run.arrivals[7].time_ns == 1'400'000'000);
  CHECK(run.arrivals[0].prompt_tokens == 592);
  CHECK(run.arrivals[0].prefix.front().id == run.arrivals[100].prefix.front().id);
  CHECK(run.arrivals[0].prefix.front().id != run.arrivals[99].prefix.front().id);
  // (1525 - 25) / (101 - 1) = 15 ms a token.
  CHECK(run.measured[2].name == "mean_tpot_ms");
  CHECK(run.measured[2].value == Approx(15));
}

TEST_CASE("measured jobs: all at once, weights by precision, unknown ones left out by name") {
  const MeasuredRuns read = jobs(
      "Llama-3.1-8B,H100,1,1,FP8,128,2048,20000,30000\n"
      "Llama-3.3-70B,B200,1,1,FP4,128,128,11147,30000\n"
      "Llama-4-Maverick,B200,8,1,FP4,128,128,124323,30000\n"
      "Llama-3.1-8B,H100,1,2,FP8,128,2048,20000,30000\n");
  REQUIRE(read.runs.size() == 2);
  CHECK(read.runs[1].scenario.model == "llama-3.3-70b-nvfp4");
  CHECK(read.runs[0].scenario.engine.quantization == "fp8");
  CHECK(read.runs[0].scenario.engine.own.get<TrtllmOptions>().max_seq_len == 128 + 2048);
  CHECK(read.runs[0].arrivals.size() == 30'000);
  CHECK(read.runs[0].arrivals.back().time_ns == 0);
  REQUIRE(read.excluded.size() == 2);
  CHECK(read.excluded[0].why == "no FP4 weights in the catalog");
  CHECK(read.excluded[1].why == "pipeline stages are not replayed");
}

TEST_CASE("measured jobs: models of experts have attention by data ranks") {
  const MeasuredRuns read = jobs(
      "Qwen3-235B-A22B,B200,8,1,FP4,128,2048,66057,3000\n"
      "Qwen3-30B-A3B,B200,1,1,FP4,128,2048,37844,3000\n");
  REQUIRE(read.runs.size() == 2);
  CHECK(read.runs[0].scenario.engine.tensor_parallel_size == 1);
  CHECK(read.runs[0].scenario.engine.data_parallel_size == 8);
  CHECK(read.runs[0].scenario.engine.enable_expert_parallel);
  CHECK(read.runs[1].scenario.engine.data_parallel_size == 1);
  CHECK_FALSE(read.runs[1].scenario.engine.enable_expert_parallel);
}

TEST_CASE("measured runs: bad files are refused with file and line") {
  CHECK_THROWS_WITH(stages("a,meta-llama/Llama-2-7b-hf,1,4096,2048,128,x,300,5,5,1,1,2\n"),
                    Contains("h100/stages.csv:2: rate_req_s: 'x' is not a number"));
  CHECK_THROWS_WITH(stages("a,meta-llama/Llama-2-7b-hf,1,4096,2048,128,0,300,5,5,1,1,2\n"),
                    Contains("h100/stages.csv:2: rate_req_s: '0': expected 0.001 to"));
  CHECK_THROWS_WITH(stages("a,meta-llama/Llama-2-7b-hf,1,4096,2048,128,5,300,5,1,1,1,2\n"),
                    Contains("output_len_mean: '1': expected 2 to"));
  CHECK_THROWS_WITH(stages("a,meta-llama/Llama-2-7b-hf,0,4096,2048,128,5,300,5,5,1,1,2\n"),
                    Contains("tp: '0': expected 1 to 64"));
  CHECK_THROWS_AS(read_measured_runs("/no/such/folder", Catalog::embedded()), ConfigError);
  CHECK_THROWS_WITH(read_measured_runs(TempFolder().path(), Catalog::embedded()),
                    Contains("no measured run"));
  const TempFolder folder;
  folder.write("RTX4090_x/config.json", "{\"model\": 1}");
  folder.write("RTX4090_x/requests.csv", "input_toks\n");
  CHECK_THROWS_WITH(read_measured_runs(folder.path(), Catalog::embedded()),
                    Contains("RTX4090_x/config.json"));
  folder.write("RTX4090_x/config.json",
               R"({"model": "meta-llama/Llama-3.1-8B", "vllm_version": "0.19.0",
                   "engine_kwargs": {"tensor_parallel_size": 1}})");
  const std::string header = "input_toks,output_toks,arrival_s,first_token_s,last_token_s\n";
  folder.write("RTX4090_x/requests.csv", header + "10,10,0,1,2\n10,10,5,4,6\n");
  CHECK_THROWS_WITH(read_measured_runs(folder.path(), Catalog::embedded()),
                    Contains("requests.csv:3: expected arrival_s <= first_token_s <="));
  folder.write("RTX4090_x/requests.csv", header + "10,10,0,1,2\n");
  CHECK_THROWS_WITH(read_measured_runs(folder.path(), Catalog::embedded()),
                    Contains("1 requests: expected more than 1"));
}

TEST_CASE("a run is scored by what was measured, and by how far its constants come from") {
  const TempFolder folder;
  folder.write("h100/stages.csv",
               kStages +
                   "own/stage_0,meta-llama/Llama-2-7b-hf,1,4096,2048,128,5,200,592,194,0.025,"
                   "0.024,1.81\n");
  Catalog catalog = Catalog::embedded();
  RunValidation validation = validate_runs({.directory = folder.path()}, catalog);
  REQUIRE(validation.runs.size() == 1);
  CHECK(validation.runs[0].calibration == "h100-sxm-vllm-async");
  CHECK(validation.runs[0].situation == Situation::other_model);
  CHECK(validation.runs[0].metrics.size() == 4);

  Calibration fitted = catalog.calibration("h100-sxm-vllm-async");
  fitted.fitted_runs = {"h100/own/stage_0"};
  catalog.put(fitted);
  validation = validate_runs({.directory = folder.path()}, catalog);
  CHECK(validation.runs[0].situation == Situation::self);
  // The folder itself, however it is written: its name stays part of the run's.
  validation = validate_runs({.directory = folder.path() + "/h100/"}, catalog);
  CHECK(validation.runs[0].situation == Situation::self);
  CHECK_THAT(run_validation_text(validation), Contains("llama-2-7b TP1, 5 requests/s"));
  CHECK_THAT(run_validation_json(validation), Contains("\"situation\": \"self\""));
}

TEST_CASE("a score has mean, median and the worst error with its sign") {
  RunValidation validation;
  for (const double simulated : {101.0, 90.0, 104.0}) {
    ScoredRun run;
    run.data_set = "run";
    run.situation = Situation::self;
    run.metrics = {{"mean_tpot_ms", 100, simulated, simulated < 102}};
    validation.runs.push_back(run);
  }
  const auto of = [&](Situation situation) {
    return score_of(validation.runs, "mean_tpot_ms",
                    [=](const ScoredRun& run) { return run.situation == situation; });
  };
  const MetricScore score = of(Situation::self);
  CHECK(score.runs == 3);
  CHECK(score.mean == Approx(0.05));
  CHECK(score.median == Approx(0.04));
  CHECK(score.mean_error == Approx(-0.05 / 3));
  CHECK(score.median_error == Approx(0.01));
  CHECK(score.worst == Approx(-0.10));
  CHECK(score.with_range == 3);
  CHECK(score.in_range == 2);
  CHECK(of(Situation::uncalibrated).runs == 0);
}

TEST_CASE("what the rows say of their errors is what replays show", "[large]") {
  const std::filesystem::path measured = std::filesystem::path(HEADROOM_SHARED_DIR) / "groundtruth";
  if (!std::filesystem::exists(measured)) {
    WARN("skipped: no measured runs at " << measured.string());
    return;
  }
  const Catalog catalog = Catalog::embedded();
  RunValidation validation = validate_runs({.directory = measured}, catalog);
  const RunValidation published = validate_runs(
      {.directory = std::filesystem::path(HEADROOM_SOURCE_DIR) / "hardware/catalog/measured"},
      catalog);
  validation.runs.insert(validation.runs.end(), published.runs.begin(), published.runs.end());
  for (const auto& [id, row] : catalog.calibrations()) {
    if (row.device.empty()) continue;
    INFO(id);
    std::vector<ScoredRun> runs;
    for (const ScoredRun& run : validation.runs) {
      if (run.calibration == id) runs.push_back(run);
    }
    const std::vector<ObservedErrors> shown = observed_errors(runs);
    REQUIRE(shown.size() == row.observed.size());
    const auto same = [](const auto& a, const auto& b) {
      REQUIRE(a.has_value() == b.has_value());
      if (!a) return;
      // Rows are written to a tenth of a per cent.
      CHECK(a->low == Approx(b->low).margin(6e-4));
      CHECK(a->high == Approx(b->high).margin(6e-4));
    };
    for (std::size_t i = 0; i < shown.size(); ++i) {
      INFO(shown[i].models.front());
      CHECK(shown[i].models == row.observed[i].models);
      CHECK(shown[i].runs == row.observed[i].runs);
      same(shown[i].ttft, row.observed[i].ttft);
      same(shown[i].tpot, row.observed[i].tpot);
      same(shown[i].throughput, row.observed[i].throughput);
    }
  }
}

}  // namespace
}  // namespace headroom::run_validation_test
