// Means of load stages on H100 SXM with vLLM 0.15.1 (training repository of inference-sim): uniform
// gaps, asynchronous scheduling, prefix caching on, 100 different prompts in turn. So all requests
// but the first 100 find their prompt up to the last block. Lengths are known by their means only;
// every request has the mean here. Times are the client's.

#include <fmt/format.h>

#include "sim/kernel/errors.hpp"
#include "sim/study/measured_run.hpp"
#include "sim/study/memory_facts.hpp"

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
  for (const FactRow& row : rows) {
    const auto number = [&](std::string_view column) { return row.number(column).value_or(0); };
    MeasuredRun run;
    run.data_set = name + "/" + row.text("stage_id");
    if (!catalog.has_model(row.text("model"))) {
      result.excluded.push_back({run.data_set, row.text("model") + " is not in the catalog"});
      continue;
    }
    Scenario& s = run.scenario;
    s.file = fmt::format("{}:{}", row.file, row.line);
    s.name = run.data_set;
    s.model = catalog.model(row.text("model")).id;
    s.device.name = "h100-sxm";
    s.engine.name = "vllm";
    s.engine.version = "0.15";
    s.engine.tensor_parallel_size = row.count("tp").value_or(1);
    s.engine.max_model_len = row.count("max_model_len");
    s.engine.max_num_batched_tokens = row.count("max_num_batched_tokens");
    s.engine.max_num_seqs = row.count("max_num_seqs");
    const double rate = number("rate_req_s");
    const double outputs = number("output_len_mean");
    const auto sent = row.count("sent").value_or(0);
    if (rate <= 0 || sent < 1 || outputs < 1) {
      throw DataError(fmt::format("{}:{}: a stage without load", row.file, row.line));
    }
    const std::int32_t prompt = rounded(number("prompt_len_mean"));
    for (std::int64_t i = 0; i < kPrompts; ++i) {
      run.pieces.push_back({kFirstPrompt + static_cast<std::uint64_t>(i), prompt});
    }
    for (std::int64_t i = 0; i < sent; ++i) {
      Arrival arrival;
      arrival.time_ns = static_cast<TimeNs>(static_cast<double>(i) / rate * 1e9 + 0.5);
      arrival.prompt_tokens = prompt;
      arrival.output_tokens = arrival.max_tokens = rounded(outputs);
      arrival.prefix = std::span(run.pieces).subspan(static_cast<std::size_t>(i % kPrompts), 1);
      run.arrivals.push_back(arrival);
    }
    const double e2e_ms = 1e3 * number("e2e_mean_s");
    const double ttft_ms = 1e3 * number("ttft_mean_s");
    run.measured = {{"mean_ttft_ms", ttft_ms},
                    {"median_ttft_ms", 1e3 * number("ttft_median_s")},
                    {"mean_tpot_ms", (e2e_ms - ttft_ms) / (outputs - 1)},
                    {"mean_e2el_ms", e2e_ms}};
    run.label = fmt::format("{} TP{}, {:g} requests/s, {} in / {} out", s.model,
                            s.engine.tensor_parallel_size, rate, prompt, rounded(outputs));
    result.runs.push_back(std::move(run));
  }
}

}  // namespace headroom
