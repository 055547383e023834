#include "sim/fidelity/ablation.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "sim/kernel/errors.hpp"
#include "sim/report/text/ablation_report.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::ablation_test {
namespace {

const Ablation& of(const Ablations& ablations, std::string_view term) {
  return *std::ranges::find(ablations.terms, term, &Ablation::term);
}

double change(const Ablations& ablations, std::string_view term, std::string_view metric) {
  const auto& metrics = of(ablations, term).metrics;
  return std::ranges::find(metrics, metric, &AblatedMetric::name)->most;
}

}  // namespace

TEST_CASE("removing a term moves the metrics it is part of, and no others") {
  const TempFolder folder;
  folder.write("h100/stages.csv",
               "stage_id,model,tp,max_model_len,max_num_batched_tokens,max_num_seqs,rate_req_s,"
               "sent,prompt_len_mean,output_len_mean,ttft_mean_s,ttft_median_s,e2e_mean_s\n"
               "own/stage_0,meta-llama/Llama-2-7b-hf,1,4096,2048,128,5,100,592,194,0.025,0.024,"
               "1.81\n");
  const Ablations ablations = ablate_runs(folder.path(), Catalog::embedded());
  REQUIRE(ablations.runs == 1);
  // An asynchronous row on one device has neither host time nor all-reduces.
  for (const char* term : {"host", "all_reduce"}) {
    CHECK(change(ablations, term, "mean_tpot_ms") == 0);
    CHECK(change(ablations, term, "mean_ttft_ms") == 0);
  }
  // The client waits before the first token only.
  CHECK(change(ablations, "client", "mean_tpot_ms") == 0);
  CHECK(change(ablations, "client", "mean_ttft_ms") < -0.05);
  // 2.6 of some 7.7 ms a step.
  CHECK(change(ablations, "step", "mean_tpot_ms") == Approx(-0.34).margin(0.04));
  CHECK(change(ablations, "roofline_sum", "mean_tpot_ms") > 0);
  CHECK(change(ablations, "roofline_max", "mean_tpot_ms") < 0);
  for (const Ablation& ablation : ablations.terms) {
    if (ablation.term == "roofline_sum") continue;
    CHECK(change(ablations, ablation.term, "mean_tpot_ms") <= 0);
  }
  CHECK_THAT(ablation_text(ablations), Catch::Contains("graph_padding"));
  CHECK_THAT(ablation_json(ablations), Catch::Contains("\"error_share_without\""));
}

}  // namespace headroom::ablation_test
