// Means of load stages on H100 SXM with vLLM 0.15.1 (training repository of inference-sim): uniform
// gaps, asynchronous scheduling, prefix caching on, 100 different prompts in turn. So all requests
// but the first 100 find their prompt up to the last block. Lengths are known by their means only;
// every request has the mean here. Times are the client's.

#include <fmt/format.h>

#include <utility>

#include "sim/fidelity/measured_run.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kPrompts = 100;
constexpr std::uint64_t kFirstPrompt = 0x5354414745;  // an id that nothing else has

std::int32_t rounded(double tokens) { return static_cast<std::int32_t>(tokens + 0.5); }

}  // namespace

void read_load_stages(std::istream& in, const std::string& name, const Catalog& catalog,
                      MeasuredRuns& result) {
  const std::vector<FactRow> rows =
      read_facts(in, name + "/stages.csv",
                 {"stage_id", "model", "tp", "max_model_len", "max_num_batched_tokens",
                  "max_num_seqs", "rate_req_s", "sent", "prompt_len_mean", "output_len_mean",
                  "ttft_mean_s", "ttft_median_s", "e2e_mean_s"});
  refuse_copies(rows);
  for (const FactRow& row : rows) {
    MeasuredRun run;
    run.data_set = name + "/" + row.text("stage_id");
    if (!catalog.has_model(row.text("model"))) {
      result.excluded.push_back({run.data_set, row.text("model") + " is not in the catalog"});
      continue;
    }
    run.scenario = recorded_system(
        fmt::format("{}:{}", row.file, row.line), catalog.model(row.text("model")).id, "h100-sxm",
        {{"name", "vllm"},
         {"version", "0.15"},
         {"tensor_parallel_size", count_in(row, "tp", 1, 64)},
         {"max_model_len", count_in(row, "max_model_len", 1, kMostMeasuredTokens)},
         {"max_num_batched_tokens",
          count_in(row, "max_num_batched_tokens", 1, kMostMeasuredTokens)},
         {"max_num_seqs", count_in(row, "max_num_seqs", 1, kMostMeasuredTokens)}});
    constexpr auto kMostTokens = static_cast<double>(kMostMeasuredTokens);
    const double rate = number_in(row, "rate_req_s", 1e-3, 1e6);
    // A token behind the first one, or there would be no TPOT.
    const double outputs = number_in(row, "output_len_mean", 2, kMostTokens);
    const std::int64_t sent = count_in(row, "sent", 1, 10'000'000);
    const std::int32_t prompt = rounded(number_in(row, "prompt_len_mean", 1, kMostTokens));
    std::vector<PrefixSegment> prompts;
    for (std::int64_t i = 0; i < kPrompts; ++i) {
      prompts.push_back({kFirstPrompt + static_cast<std::uint64_t>(i), prompt});
    }
    run.pieces = std::make_shared<const std::vector<PrefixSegment>>(std::move(prompts));
    for (std::int64_t i = 0; i < sent; ++i) {
      Arrival arrival;
      arrival.time_ns = static_cast<TimeNs>(static_cast<double>(i) / rate * 1e9 + 0.5);
      arrival.prompt_tokens = prompt;
      arrival.output_tokens = arrival.max_tokens = rounded(outputs);
      arrival.prefix = std::span(*run.pieces).subspan(static_cast<std::size_t>(i % kPrompts), 1);
      run.arrivals.push_back(arrival);
    }
    const double ttft_s = number_in(row, "ttft_mean_s", 1e-6, kLongestMeasuredRun);
    const double e2e_s = number_in(row, "e2e_mean_s", ttft_s, kLongestMeasuredRun);
    const double median_s = number_in(row, "ttft_median_s", 1e-6, kLongestMeasuredRun);
    run.measured = {{"mean_ttft_ms", 1e3 * ttft_s},
                    {"median_ttft_ms", 1e3 * median_s},
                    {"mean_tpot_ms", 1e3 * (e2e_s - ttft_s) / (outputs - 1)},
                    {"mean_e2el_ms", 1e3 * e2e_s}};
    run.label =
        fmt::format("{} TP{}, {:g} requests/s, {} in / {} out", run.scenario.model,
                    run.scenario.engine.tensor_parallel_size, rate, prompt, rounded(outputs));
    result.runs.push_back(std::move(run));
  }
}

}  // namespace headroom
