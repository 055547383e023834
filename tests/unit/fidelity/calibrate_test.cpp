// Fits on runs whose truth is known: the "measured" times are those of the simulator itself with
// other constants.

#include "sim/fidelity/calibrate.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "hardware/calibration_fields.hpp"
#include "sim/report/text/calibrate_report.hpp"
#include "sim/resolve/run.hpp"
#include "tests/support/about.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::calibrate_test {
namespace {

using Catch::Matchers::Contains;

constexpr const char* kRow = "rtx4090-vllm-async";
const std::string kConfig =
    R"({"model": "meta-llama/Llama-3.1-8B", "vllm_version": "0.19.0", "engine_kwargs": {
        "tensor_parallel_size": 1, "max_num_seqs": 256, "max_num_batched_tokens": 2048,
        "max_model_len": 8192}})";

// 240 requests, six a second.
std::string rows_without_times() {
  std::string rows;
  for (int i = 0; i < 240; ++i) {
    rows += fmt::format("{},{},{:.6f},1000,2000\n", 40 + 97 * i % 900, 20 + 41 * i % 200, i / 6.0);
  }
  return "input_toks,output_toks,arrival_s,first_token_s,last_token_s\n" + rows;
}

// The times of a run with `truth`, as a measured run writes them.
std::string rows_of(const Calibration& truth) {
  const TempFolder folder;
  folder.write("RTX4090_truth/config.json", kConfig);
  folder.write("RTX4090_truth/requests.csv", rows_without_times());
  Catalog catalog = Catalog::embedded();
  catalog.put(truth);
  const MeasuredRuns runs = read_measured_runs(folder.path(), catalog);
  REQUIRE(runs.runs.size() == 1);
  std::string rows = "input_toks,output_toks,arrival_s,first_token_s,last_token_s\n";
  const RunResult result = replay(runs.runs[0], catalog);
  for (const RequestRecord& r : result.recorder->records()) {
    rows += fmt::format("{},{},{:.9f},{:.9f},{:.9f}\n", r.prompt_tokens, r.output_tokens,
                        1e-9 * static_cast<double>(r.arrival_ns),
                        1e-9 * static_cast<double>(r.first_token_ns),
                        1e-9 * static_cast<double>(r.finish_ns));
  }
  return rows;
}

class Measured : public TempFolder {
 public:
  explicit Measured(const Calibration& truth) {
    write("RTX4090_a/config.json", kConfig);
    write("RTX4090_a/requests.csv", rows_of(truth));
  }
  [[nodiscard]] CalibrationFit fit(std::vector<std::string> keys) const {
    return calibrate({path(), kRow, {"RTX4090_a"}, std::move(keys)}, Catalog::embedded());
  }
};

Calibration row() { return Catalog::embedded().calibration(kRow); }

TEST_CASE("calibrate: a constant that the runs show is found again") {
  Calibration truth = row();
  truth.weight_bandwidth_share = 0.7;  // the row has 0.86
  truth.step_ns = 1.5e6;               // the row has none
  const Measured measured(truth);
  const CalibrationFit fit = measured.fit({"weight_bandwidth_share"});
  REQUIRE(fit.constants.size() == 1);
  CHECK(fit.constants[0].identified);
  // 1.5 ms of a step of about 22 ms are read as bandwidth: 0.86 * 22 / (22 * 0.86 / 0.7 + 1.5).
  CHECK(fit.constants[0].value == Approx(0.66).margin(0.02));
  CHECK(fit.rms_after < 0.1 * fit.rms_before);

  Calibration exact = row();
  exact.weight_bandwidth_share = 0.7;
  const CalibrationFit again = Measured(exact).fit({"weight_bandwidth_share"});
  CHECK(again.constants[0].value == Approx(0.7).epsilon(0.002));
  CHECK(again.rms_after < 0.05 * again.rms_before);
  CHECK(again.calibration.fitted_runs.back() == "RTX4090_a");
}

TEST_CASE("calibrate: what the runs do not show keeps its value, and is said") {
  // Times taken in the engine know nothing of the client, runs on one device of no all-reduce.
  Calibration truth = row();
  truth.weight_bandwidth_share = 0.8;
  const CalibrationFit fit =
      Measured(truth).fit({"client_latency_ms", "weight_bandwidth_share", "pcie_latency_us"});
  CHECK_FALSE(fit.constants[0].identified);
  CHECK(fit.constants[0].value == fit.constants[0].before);
  CHECK(fit.constants[1].identified);
  CHECK(fit.constants[1].value == Approx(0.8).epsilon(0.005));
  CHECK_FALSE(fit.constants[2].identified);
  CHECK_THAT(calibrate_text(fit), Contains("these runs do not determine it: unchanged"));
}

TEST_CASE("calibrate: two constants that do the same are not both fitted") {
  // One model on one device: the weights' time and a constant time of each step move all figures
  // alike.
  Calibration truth = row();
  truth.weight_bandwidth_share = 0.8;
  const CalibrationFit fit = Measured(truth).fit({"layer_us", "step_us"});
  CHECK(fit.constants[0].identified + fit.constants[1].identified == 1);
}

TEST_CASE("calibrate: the fitted row is a calibrations.json that a catalog takes") {
  Calibration truth = row();
  truth.weight_bandwidth_share = 0.8;
  const CalibrationFit fit = Measured(truth).fit({"weight_bandwidth_share"});
  Catalog catalog = Catalog::embedded();
  catalog.overlay_text("calibrations.json", calibrations_file(fit.calibration), "fitted");
  const Calibration& read = catalog.calibration(kRow);
  for (const CalibrationField& field : calibration_fields()) {
    CAPTURE(field.key);
    CHECK(read.*field.member == Approx(fit.calibration.*field.member).epsilon(1e-3));
  }
  CHECK(read.fitted_runs == fit.calibration.fitted_runs);

  Calibration misspelt = fit.calibration;
  misspelt.weights = "fp9";
  CHECK(test::about([&] {
          catalog.overlay_text("calibrations.json", calibrations_file(misspelt), "fitted");
        }) == test::value_at("/calibrations/0/weights"));
}

TEST_CASE("calibrate: wrong names are refused by name") {
  const Measured measured(row());
  const auto fit = [&](const char* calibration, const char* run, const char* key) {
    return calibrate({measured.path(), calibration, {run}, {key}}, Catalog::embedded());
  };
  CHECK_THROWS_WITH(fit("rtx4091", "RTX4090_a", "step_us"),
                    Contains("unknown calibration 'rtx4091'"));
  CHECK_THROWS_WITH(fit(kRow, "RTX4090_b", "step_us"), Contains("no measured run \"RTX4090_b\""));
  const test::About constant = test::about([&] { return fit(kRow, "RTX4090_a", "step_ms"); });
  CHECK(constant.kind == ErrorKind::unknown);
  CHECK(constant.complaint.nearest == "step_us");
  CHECK_THROWS_WITH(measured.fit({"step_us", "step_us"}), Contains("step_us is named twice"));
}

}  // namespace
}  // namespace headroom::calibrate_test
