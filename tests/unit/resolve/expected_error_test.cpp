#include "sim/resolve/expected_error.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/resolve/run.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom::expected_error_test {
namespace {

RunResult demo(std::vector<std::string> set, const Catalog& catalog) {
  set.emplace_back("workload.num_requests=20");
  ScenarioFlags flags;
  flags.set = std::move(set);
  return run(load_scenario("demo", flags), catalog);
}

const ErrorRange& range_of(const ExpectedError& error, std::string_view metric) {
  const auto found = std::ranges::find(error.ranges, metric, &ErrorRange::metric);
  REQUIRE(found != error.ranges.end());
  return *found;
}

}  // namespace

TEST_CASE("a run says what replays of its model showed for its constants") {
  Catalog catalog = Catalog::embedded();
  Calibration row = catalog.calibration("h100-sxm-vllm-async");
  row.observed = {{.models = {"llama-3.1-8b"},
                   .runs = 6,
                   .ttft = {},
                   .tpot = ObservedErrors::Range{-0.05, 0.25},
                   .throughput = {}},
                  {.models = {"llama-2-7b"},
                   .runs = 2,
                   .ttft = {},
                   .tpot = ObservedErrors::Range{-0.5, 1},
                   .throughput = {}}};
  catalog.put(row);
  const ExpectedError same =
      demo({"model=llama-3.1-8b", "cost.level=calibrated"}, catalog).expected_error;
  CHECK(same.situation == "same model");
  CHECK(same.runs == 6);
  // Shown 25 % too high: the truth is 1 / 1.25 of it.
  CHECK(range_of(same, "mean_tpot_ms").low == Approx(-0.2));
  CHECK(range_of(same, "mean_tpot_ms").high == Approx(1 / 0.95 - 1));

  const ExpectedError other =
      demo({"model=qwen3-8b", "cost.level=calibrated"}, catalog).expected_error;
  CHECK(other.situation == "other model");
  CHECK(other.runs == 8);
  CHECK(range_of(other, "mean_tpot_ms").low == Approx(-0.5));
  CHECK(range_of(other, "mean_tpot_ms").high == Approx(1));
}

TEST_CASE("few runs of the constants' own are no range: the engine's on other devices are") {
  Catalog catalog = Catalog::embedded();
  Calibration row = catalog.calibration("h100-sxm-vllm-async");
  row.observed = {{.models = {"llama-3.1-8b"},
                   .runs = 1,
                   .ttft = {},
                   .tpot = ObservedErrors::Range{-0.01, -0.01},
                   .throughput = {}}};
  catalog.put(row);
  const ExpectedError error =
      demo({"model=llama-3.1-8b", "cost.level=calibrated"}, catalog).expected_error;
  CHECK(error.situation == "other model");
  CHECK(error.runs > 100);
  CHECK(range_of(error, "mean_tpot_ms").high > 0.05);
}

TEST_CASE("without a measured run the range is over constants fitted elsewhere") {
  const ExpectedError error =
      demo({"device=h200-sxm", "cost.level=calibrated"}, Catalog::embedded()).expected_error;
  CHECK(error.situation == "uncalibrated");
  CHECK(error.runs == 0);
  for (const char* step : {"decode_step", "prefill_step"}) {
    CHECK(range_of(error, step).low < 0);
    CHECK(range_of(error, step).low > -0.9);
    CHECK(range_of(error, step).high > range_of(error, step).low);
  }
  // Kernel times: what replays of other models showed for the engine.
  const ExpectedError kernels = demo({"device=h200-sxm"}, Catalog::embedded()).expected_error;
  CHECK(kernels.situation == "other model");
  CHECK(kernels.runs > 300);
  CHECK(range_of(kernels, "mean_ttft_ms").low < 0);
  const ExpectedError none = demo({"cost.level=spec"}, Catalog::embedded()).expected_error;
  CHECK(none.situation == "none");
  CHECK(none.ranges.empty());
}

TEST_CASE("an engine's constants of no device have their public runs, or its others' range") {
  const Catalog catalog = Catalog::embedded();
  const auto error = [&](const char* device) {
    const std::string text = std::string(R"({"model": "qwen3-8b", "device": ")") + device +
                             R"(", "engine": {"name": "llamacpp", "quantization": "q4_k_m"},
        "workload": {"arrivals": {"process": "all_at_once"}, "num_requests": 2,
                     "prompt": {"tokens": 500}, "output": {"tokens": 20}}})";
    return run(parse_scenario(parse_json(text, "s.json")), catalog).expected_error;
  };
  const ExpectedError known = error("strix-halo-128");
  CHECK(known.situation == "other model");
  CHECK(known.runs == 28);
  CHECK(range_of(known, "mean_tpot_ms").high > range_of(known, "mean_tpot_ms").low);
  // Of an R9700 no public run is kept. What is shown lies in the range, and constants of other
  // engines, whose products are not of 8-bit integers, are none of it.
  const ExpectedError other = error("r9700");
  CHECK(other.situation == "uncalibrated");
  CHECK(range_of(other, "prefill_step").low > -0.55);  // -0.61 with them
  CHECK(range_of(other, "prefill_step").high >= 0);
  CHECK(range_of(other, "decode_step").low <= 0);
  // vLLM has rows of devices, which tell more than its few rows of architectures.
  const ExpectedError wide =
      demo({"device=mi355x", "cost.level=calibrated"}, catalog).expected_error;
  CHECK(range_of(wide, "decode_step").high - range_of(wide, "decode_step").low > 0.1);
}

TEST_CASE("kernels taken from another vendor's device have the errors seen on the device alone") {
  const Catalog catalog = Catalog::embedded();
  // Six runs of DeepSeek-V3 on MI300X; of Llama-3.1-8B none, so those of all models.
  const ExpectedError same =
      demo({"model=deepseek-v3", "device=mi300x", "engine.tensor_parallel_size=8"}, catalog)
          .expected_error;
  CHECK(same.situation == "same model");
  CHECK(same.runs == 6);
  CHECK(range_of(same, "mean_tpot_ms").high > range_of(same, "mean_tpot_ms").low);
  const ExpectedError other = demo({"device=mi300x"}, catalog).expected_error;
  CHECK(other.situation == "other model");
  CHECK(other.runs == 37);
  // No run of an MI355X is known, and what runs on a B200 showed does not hold there.
  const ExpectedError none = demo({"device=mi355x"}, catalog).expected_error;
  CHECK(none.situation == "uncalibrated");
  CHECK(none.ranges.empty());
}

}  // namespace headroom::expected_error_test
