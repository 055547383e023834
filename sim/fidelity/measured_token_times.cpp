// Prompt and token times of Splitwise (Microsoft, MIT): vLLM of 2023 (V0, eager) with Llama-2-70B
// on A100 and H100, one static batch a point; medians of the repeats. A prompt phase takes the
// whole batch in one step. Releases are not recorded: 0.2.
//
// Left out: models that the catalog lacks, boards with a power cap, outputs from 1024 tokens, which
// ended early (README of the data), and batches of 64 on two devices: less time than a batch of 32.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/fidelity/measured_run.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kEndedEarly = 1024;  // tokens of output
constexpr std::int64_t kBlock = 16;

struct TokenTimes {
  const FactRow* row = nullptr;  // the first
  std::vector<double> prompt_ms;
  std::vector<double> token_ms;
};

std::string_view timed_device(const FactRow& row) {
  if (row.text("hardware") == "a100-80gb") return "a100-80";
  return row.text("hardware") == "h100-80gb" ? "h100-sxm" : "";
}

std::string why_no_times(const FactRow& row, const Catalog& catalog) {
  if (row.text("model") != "llama2-70b" || !catalog.has_model("llama-2-70b")) {
    return row.text("model") + " is not in the catalog";
  }
  if (row.text("hardware") == "h100-80gb-pcap") return "the power of the board was capped";
  if (timed_device(row).empty()) return row.text("hardware") + " is not replayed";
  if (count_in(row, "token_size", 2, kMostMeasuredTokens) >= kEndedEarly) {
    return "outputs ended early";
  }
  if (count_in(row, "tensor_parallel", 1, 64) == 2 &&
      count_in(row, "batch_size", 1, kMostMeasuredBatch) >= 64) {
    return "a batch of 64 on two devices takes less time than one of 32";
  }
  return "";
}

// What the batch needs and no more: that it ran is known, and pools were not recorded.
Json engine_of(std::int64_t tp, std::int64_t prompt, std::int64_t batch, std::int64_t output) {
  const std::int64_t blocks = (prompt + output + kBlock - 1) / kBlock;
  return {{"name", "vllm"},
          {"version", "0.2"},
          {"tensor_parallel_size", tp},
          {"enforce_eager", true},
          {"max_model_len", prompt + output},
          {"allow_long_max_model_len", true},
          {"max_num_batched_tokens", std::max(prompt * batch, prompt + output)},
          {"max_num_seqs", batch},
          {"watermark", 0},
          {"num_gpu_blocks_override", blocks * batch + 1}};
}

}  // namespace

void read_token_times(std::istream& in, const std::string& name, const Catalog& catalog,
                      MeasuredRuns& result) {
  const std::vector<FactRow> rows =
      read_facts(in, name + "/perf_model.csv",
                 {"model", "hardware", "prompt_size", "batch_size", "token_size", "prompt_time",
                  "token_time", "tensor_parallel"});
  std::map<std::tuple<std::string_view, std::int64_t, std::int64_t, std::int64_t, std::int64_t>,
           TokenTimes>
      points;
  for (const FactRow& row : rows) {
    if (std::string why = why_no_times(row, catalog); !why.empty()) {
      result.excluded.push_back({fmt::format("{}/line {}", name, row.line), std::move(why)});
      continue;
    }
    TokenTimes& point = points[{timed_device(row), count_in(row, "tensor_parallel", 1, 64),
                                count_in(row, "prompt_size", 1, kMostMeasuredTokens),
                                count_in(row, "batch_size", 1, kMostMeasuredBatch),
                                count_in(row, "token_size", 2, kMostMeasuredTokens)}];
    if (point.row == nullptr) point.row = &row;
    point.prompt_ms.push_back(number_in(row, "prompt_time", 1e-6, 1e9));
    point.token_ms.push_back(number_in(row, "token_time", 1e-6, 1e9));
  }
  for (const auto& [key, point] : points) {
    const auto& [device, tp, prompt, batch, output] = key;
    MeasuredRun run;
    run.data_set = fmt::format("{}/{} TP{}/{}x{}/{}", name, device, tp, batch, prompt, output);
    run.scenario = recorded_system(fmt::format("{}:{}", point.row->file, point.row->line),
                                   "llama-2-70b", device, engine_of(tp, prompt, batch, output));
    const std::string preset = std::string(device) + "-vllm-2023-eager";
    if (catalog.calibrations().contains(preset)) run.scenario.cost.calibration = preset;
    run.arrivals =
        batch_of(batch, static_cast<std::int32_t>(prompt), static_cast<std::int32_t>(output));
    run.at_the_engine = true;
    run.measured = {{"mean_ttft_ms", median_of(point.prompt_ms)},
                    {"mean_tpot_ms", median_of(point.token_ms)}};
    run.label = fmt::format("{} x {}/{} TP{} {} on {}, 2023", batch, prompt, output, tp,
                            run.scenario.model, device);
    result.runs.push_back(std::move(run));
  }
}

}  // namespace headroom
