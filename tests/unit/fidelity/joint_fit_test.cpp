#include "sim/fidelity/joint_fit.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "sim/kernel/errors.hpp"
#include "sim/report/text/calibrate_report.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::joint_fit_test {
namespace {

using Catch::Matchers::Contains;

const std::string kRecipes =
    "id,measured,script_state,server,config,env\n"
    "a,2026-01-01,of that day,vllm serve meta-llama/Llama-3.1-8B --max-model-len 4096,,\n"
    "b,2026-01-01,of that day,vllm serve Qwen/Qwen3-32B --max-model-len 4096,,\n";

// Loops of two models on two devices whose times are those of the program with other constants.
void write_loops(const TempFolder& folder, const BetweenKernels& truth) {
  Catalog catalog = Catalog::embedded();
  catalog.put(truth);
  std::string rows =
      "id,backend,backend_version,model_path,system,precision,mode,isl,osl,batch_size,tp_size,"
      "attention_dp_size,moe_tp_size,moe_ep_size,silicon_ttft_ms,silicon_tpot_ms\n";
  std::string with_times = rows;
  for (const char* system : {"h100_sxm", "b200_sxm"}) {
    for (const auto& [id, model] :
         {std::pair("a", "meta-llama/Llama-3.1-8B"), std::pair("b", "Qwen/Qwen3-32B")}) {
      for (const int places : {2, 8}) {
        const std::string row = fmt::format("{},vllm,0.15.1,{},{},bf16,agg,1024,64,{},1,1,1,1,", id,
                                            model, system, places);
        folder.write("now/silicon_sample.csv", rows + row + "1000,100\n");
        folder.write("now/recipes.csv", kRecipes);
        const MeasuredRuns read = read_measured_runs(folder.path() + "/now", catalog);
        const ScoredRun scored = scored_by_kernels(read.runs.at(0), catalog).value();
        with_times +=
            row + fmt::format("{},{}\n", scored.metrics[0].simulated, scored.metrics[1].simulated);
      }
    }
  }
  folder.write("loops/silicon_sample.csv", with_times);
  folder.write("loops/recipes.csv", kRecipes);
}

}  // namespace

TEST_CASE("a joint fit finds the constants that made the runs, and scores what was left out") {
  const Catalog catalog = Catalog::embedded();
  BetweenKernels truth = *catalog.between_kernels("vllm");
  truth.request_ns *= 0.5;
  truth.layer_ns *= 1.5;
  const TempFolder folder;
  write_loops(folder, truth);
  const JointFit fit = fit_between_kernels({.directory = folder.path() + "/loops",
                                            .fit = {"request_ms", "layer_us"},
                                            .own = {"request_ms", "layer_us"},
                                            .ties = 1e-4,
                                            .threads = 2},
                                           catalog);
  REQUIRE(fit.after.size() == 8);
  for (const BetweenKernels& row : fit.rows) {
    if (row.id != "vllm") continue;
    CHECK(row.request_ns == Approx(truth.request_ns).epsilon(0.05));
    CHECK(row.layer_ns == Approx(truth.layer_ns).epsilon(0.05));
    REQUIRE(row.observed.size() == 2);
    CHECK(row.observed[0].models.front() == "llama-3.1-8b");
    CHECK(row.observed[0].runs == 4);
  }
  const auto all = [](const ScoredRun&) { return true; };
  const auto mean = [&](const std::vector<ScoredRun>& runs, std::string_view metric) {
    return score_of(runs, metric, all).mean;
  };
  for (const std::string_view metric : {"mean_ttft_ms", "mean_tpot_ms"}) {
    CHECK(mean(fit.after, metric) < 0.3 * mean(fit.before, metric));
    CHECK(mean(fit.without_model, metric) < 0.5 * mean(fit.before, metric));
    CHECK(mean(fit.without_device, metric) < 0.5 * mean(fit.before, metric));
  }
  CHECK(fit.without_source.empty());  // there is one
  CHECK_THAT(calibrate_text(fit), Contains("Each model with constants from the other models"));
  // What it writes is what --catalog reads.
  Catalog written = catalog;
  written.overlay_text("between_kernels.json", between_kernels_file(fit.rows), "written");
  CHECK(written.between_kernels("vllm")->layer_ns ==
        Approx(catalog.between_kernels("vllm")->layer_ns * 1.5).epsilon(0.1));
}

TEST_CASE("joint fits: what cannot be fitted is refused by name") {
  const Catalog catalog = Catalog::embedded();
  const TempFolder folder;
  write_loops(folder, *catalog.between_kernels("vllm"));
  const auto fit = [&](std::vector<std::string> keys, std::vector<std::string> own) {
    return fit_between_kernels(
        {.directory = folder.path() + "/loops", .fit = std::move(keys), .own = std::move(own)},
        catalog);
  };
  CHECK_THROWS_WITH(fit({"layer_ms"}, {}), Contains("layer_us"));
  CHECK_THROWS_WITH(fit({"layer_us"}, {"request_ms"}), Contains("request_ms"));
  CHECK_THROWS_WITH(fit({}, {}), Contains("name the constants"));
  CHECK_THROWS_WITH(fit({"layer_us", "layer_us"}, {}), Contains("layer_us is named twice"));
  for (const double ties : {0.0, -1.0, 1001.0, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_WITH(
        fit_between_kernels(
            {.directory = folder.path() + "/loops", .fit = {"layer_us"}, .ties = ties}, catalog),
        Contains("--ties") && Contains("more than 0"));
  }
}

TEST_CASE("joint fits: data sets that no constant learns of") {
  const Catalog catalog = Catalog::embedded();
  const TempFolder folder;
  BetweenKernels truth = *catalog.between_kernels("vllm");
  truth.layer_ns *= 1.5;
  write_loops(folder, truth);
  using Sets = std::vector<std::string>;
  const auto fit = [&](Sets runs, Sets unseen) {
    return fit_between_kernels({.directory = folder.path() + "/loops",
                                .runs = std::move(runs),
                                .unseen = std::move(unseen),
                                .fit = {"layer_us"}},
                               catalog);
  };
  CHECK_THROWS_WITH(fit({}, {"loops"}), Contains("leaves none to fit on"));
  const std::vector<ScoredRun> all = fit({}, {}).before;
  Sets seen;
  Sets unseen;
  for (const ScoredRun& run : all) {
    (run.model == all.front().model ? seen : unseen).push_back(run.data_set);
  }
  const JointFit alone = fit(seen, {});
  const JointFit beside = fit({}, unseen);
  CHECK(alone.after.size() == seen.size());
  CHECK(beside.after.size() == all.size());
  CHECK(beside.constants.front().value == alone.constants.front().value);
}

TEST_CASE("the usual errors leave out a tenth at both ends") {
  std::vector<ScoredRun> runs;
  for (int i = 0; i <= 10; ++i) {
    ScoredRun& run = runs.emplace_back();
    run.model = "m";
    run.metrics = {{"mean_tpot_ms", 100, 100.0 + i, {}}};
  }
  const std::vector<ObservedErrors> usual = observed_errors(runs, 0.1);
  REQUIRE(usual.size() == 1);
  CHECK(usual[0].runs == 11);
  CHECK(usual[0].tpot->low == Approx(0.01));
  CHECK(usual[0].tpot->high == Approx(0.09));
  CHECK_FALSE(usual[0].ttft);
}

}  // namespace headroom::joint_fit_test
