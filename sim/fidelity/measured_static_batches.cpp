// Static batches on A100 (40 GB) with the vLLM and TensorRT-LLM of 2024: LLM-Inference-Bench of
// Argonne (BSD-3-Clause). All requests at once, prompt and output of one length; the figure is the
// output throughput of the whole batch, batch x length / latency. Releases and settings are not
// recorded: vLLM as in 0.5 (V0) with prompts of 4096 tokens a step, TensorRT-LLM as in 0.12,
// without overlap, with steps of 8192 tokens; both with room for every row of the batch.
//
// Left out: batches that the pool does not hold, those whose latency shows that they did not run
// at once (kInTurns), and batches of Mixtral on TensorRT-LLM: 16 rows take 11.0 ms a token on four
// devices, while reading all experts takes 14.5 ms at full bandwidth. Its rows went to the same
// experts, so their prompts were alike.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "sim/fidelity/measured_run.hpp"

namespace headroom {
namespace {

struct KnownModel {
  std::string_view name;
  std::string_view id;  // Qwen2-7B has the layers of Qwen2.5-7B
};
constexpr std::array kModels{KnownModel{"meta-llama/Llama-2-7b-hf", "llama-2-7b"},
                             KnownModel{"meta-llama/Llama-2-70b-hf", "llama-2-70b"},
                             KnownModel{"meta-llama/Meta-Llama-3-8B", "llama-3-8b"},
                             KnownModel{"meta-llama/Meta-Llama-3-70B", "llama-3-70b"},
                             KnownModel{"mistralai/Mistral-7B-v0.1", "mistral-7b-v0.1"},
                             KnownModel{"mistralai/Mixtral-8x7B-v0.1", "mixtral-8x7b"},
                             KnownModel{"Qwen/Qwen2-7B", "qwen2.5-7b"}};

constexpr std::string_view kDevice = "a100-40";
constexpr std::string_view kBoard = "Nvidia A100 GPU";
// Twice the length costs at most this much more per token where a batch runs at once (1.4 is the
// most among those that surely do); a batch in two turns takes about twice as long.
constexpr double kInTurns = 1.5;
constexpr std::int64_t kVllmStepTokens = 4096;
constexpr std::int64_t kTrtllmStepTokens = 8192;

Json engine_of(const FactRow& row, std::int64_t length, std::int64_t batch) {
  const std::int64_t tp = count_in(row, "num_hardware", 1, 64);
  if (row.text("framework") == "vLLM") {
    const std::int64_t step = std::max(kVllmStepTokens, 2 * length);
    return {{"name", "vllm"},
            {"version", "0.5"},
            {"tensor_parallel_size", tp},
            {"max_model_len", step},
            {"max_num_batched_tokens", step},
            {"allow_long_max_model_len", true},
            {"max_num_seqs", std::max<std::int64_t>(batch, 256)}};
  }
  return {{"name", "trtllm"},
          {"version", "0.12"},
          {"tensor_parallel_size", tp},
          {"max_seq_len", 2 * length},
          {"max_num_tokens", std::max(kTrtllmStepTokens, length)},
          {"max_batch_size", std::max<std::int64_t>(batch, 256)},
          {"disable_overlap_scheduler", true}};
}

std::string why_no_batch(const FactRow& row, const Catalog& catalog) {
  if (row.text("hardware") != kBoard) return row.text("hardware") + " is not replayed";
  if (row.text("framework") != "vLLM" && row.text("framework") != "TensorRT-LLM") {
    return fmt::format("the 2024 release of {} is not modelled", row.text("framework"));
  }
  const auto* known = std::ranges::find(kModels, row.text("model"), &KnownModel::name);
  if (known == kModels.end() || !catalog.has_model(known->id)) {
    return row.text("model") + " is not in the catalog";
  }
  if (row.text("framework") == "TensorRT-LLM" && known->id == "mixtral-8x7b" &&
      count_in(row, "batch_size", 1, kMostMeasuredBatch) > 1) {
    return "faster than the device can read its experts";
  }
  return "";
}

// One point: the median of what was measured there.
struct BatchPoint {
  const FactRow* row = nullptr;  // the first
  std::vector<double> latencies_s;
};
using Key = std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t>;

// Against the same batch at half the length.
bool ran_in_turns(const std::map<Key, BatchPoint>& points, Key key, double latency_s) {
  std::get<3>(key) /= 2;
  const auto half = points.find(key);
  return half != points.end() && latency_s / 2 > kInTurns * median_of(half->second.latencies_s);
}

MeasuredRun run_of(const std::string& data_set, const FactRow& row, std::int64_t length,
                   std::int64_t batch) {
  MeasuredRun run;
  run.data_set = data_set;
  const auto* known = std::ranges::find(kModels, row.text("model"), &KnownModel::name);
  run.scenario = recorded_system(fmt::format("{}:{}", row.file, row.line), std::string(known->id),
                                 kDevice, engine_of(row, length, batch));
  const auto tokens = static_cast<std::int32_t>(length);
  run.arrivals = batch_of(batch, tokens, tokens);
  run.at_the_engine = true;
  run.label =
      fmt::format("{} x {} TP{} {}, {}", batch, length, run.scenario.engine.tensor_parallel_size,
                  run.scenario.model, run.scenario.engine.name);
  return run;
}

}  // namespace

void read_static_batches(std::istream& in, const std::string& name, const Catalog& catalog,
                         MeasuredRuns& result) {
  const std::vector<FactRow> rows = read_facts(in, name + "/all_results.csv",
                                               {"hardware", "num_hardware", "framework", "model",
                                                "input_output_len", "batch_size", "latency_s"});
  refuse_copies(rows);
  std::map<Key, BatchPoint> points;
  for (const FactRow& row : rows) {
    if (std::string why = why_no_batch(row, catalog); !why.empty()) {
      result.excluded.push_back({fmt::format("{}/line {}", name, row.line), std::move(why)});
      continue;
    }
    BatchPoint& point =
        points[{row.text("framework"), row.text("model"), count_in(row, "num_hardware", 1, 64),
                count_in(row, "input_output_len", 2, kMostMeasuredTokens),
                count_in(row, "batch_size", 1, kMostMeasuredBatch)}];
    if (point.row == nullptr) point.row = &row;
    point.latencies_s.push_back(number_in(row, "latency_s", 1e-6, kLongestMeasuredRun));
  }
  for (const auto& [key, point] : points) {
    const auto& [framework, model, tp, length, batch] = key;
    MeasuredRun run = run_of("", *point.row, length, batch);
    run.data_set =
        fmt::format("{}/{} {} TP{}/{}x{}", name, framework, run.scenario.model, tp, batch, length);
    if (!holds_at_once(run.scenario, run.arrivals, catalog)) {
      result.excluded.push_back({run.data_set, "the pool does not hold the batch"});
      continue;
    }
    const double latency_s = median_of(point.latencies_s);
    if (ran_in_turns(points, key, latency_s)) {
      result.excluded.push_back(
          {run.data_set, "the latency is that of a batch run in several parts"});
      continue;
    }
    const auto tokens = static_cast<double>(batch) * static_cast<double>(length);
    run.measured = {{"output_throughput", tokens / latency_s}};
    result.runs.push_back(std::move(run));
  }
}

}  // namespace headroom
