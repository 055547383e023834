// Closed loops of InferenceMAX (2025 and 2026) in the silicon sample of NVIDIA's aiconfigurator
// (Apache-2.0): `batch_size` requests at a time, ten times as many in all, prompts and outputs
// uniform in [0.8, 1] of the lengths given; drawn here from that law, not those of the run. Which
// statistic the TPOT is is not recorded: the mean here (medians of the replays differ by less than
// 1 %). TTFT depends on settings that are not recorded, and is not scored.
//
// Those settings are assumed as in InferenceMAX's public scripts: asynchronous scheduling, 8192
// tokens a step, no prefix caching, as many sequences as the loop has. KV on B200 is fp8 as there;
// on H100 16 bits: loops of 32 and 64 long prompts on two devices have the same TPOT, so the pool
// held fewer than 32 of them, and in fp8 it would hold 50.
//
// Left out, with the reason: prefill and decode apart, pipelines, data-parallel attention (rows
// labelled so have the TPOT of expert parallelism on the same devices to 1 %, where both were
// measured, so what they are is not certain), rows of other origin (no law of lengths is known),
// SGLang, weights that the catalog lacks, and loops that the pool or a limit of sequences decided,
// neither of which is recorded.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "sim/fidelity/measured_run.hpp"
#include "sim/kernel/random.hpp"

namespace headroom {
namespace {

struct KnownSystem {
  std::string_view model;
  std::string_view precision;
  std::string_view id;
  std::string_view quantization = "auto";  // of the catalog's checkpoint
};
constexpr std::array kSystems{
    KnownSystem{"meta-llama/Llama-3.1-70B", "fp8", "llama-3.1-70b-fp8"},
    KnownSystem{"meta-llama/Llama-3.1-70B", "fp4", "llama-3.1-70b", "nvfp4"},
    KnownSystem{"MiniMaxAI/MiniMax-M2.5", "fp8", "minimax-m2.5"},
    KnownSystem{"MiniMaxAI/MiniMax-M2.5", "fp4", "minimax-m2.5-nvfp4"},
    KnownSystem{"moonshotai/Kimi-K2.5", "fp4", "kimi-k2.5-nvfp4"},
    KnownSystem{"openai/gpt-oss-120b", "fp4", "gpt-oss-120b"},
};

constexpr std::int64_t kStepTokens = 8192;
constexpr std::int64_t kLongestRequest = 10240;
constexpr std::int64_t kPromptsPerPlace = 10;
constexpr std::int64_t kMostPlaces = 4096;
constexpr std::uint64_t kSeed = 1;
// A loop whose requests wait so many times as long as they decode was served a few at a time, by a
// limit that is not recorded.
constexpr double kMostlyWaiting = 3;

// Those that were measured before versions were recorded are of autumn 2025.
struct Release {
  std::string_view engine;
  std::string_view unrecorded;
};
constexpr std::array kReleases{Release{"vllm", "0.11"}, Release{"trtllm", "1.1"}};

std::string name_of(const KnownSystem& system) {
  if (system.quantization == "auto") return std::string(system.id);
  return fmt::format("{}-{}", system.id, system.quantization);
}

const KnownSystem* system_of(const FactRow& row) {
  const auto* found = std::ranges::find_if(kSystems, [&](const KnownSystem& s) {
    return s.model == row.text("model_path") && s.precision == row.text("precision");
  });
  return found == kSystems.end() ? nullptr : found;
}

bool whole_experts(const FactRow& row) { return row.count("moe_ep_size").value_or(1) > 1; }

std::string why_no_loop(const FactRow& row, const Catalog& catalog) {
  if (row.text("mode") != "agg") return "prefill and decode run on separate devices";
  if (count_in(row, "pp_size", 1, 1024) > 1) return "pipeline stages are not replayed";
  if (row.text("attention_dp_size").empty()) {
    return "not from InferenceMAX: lengths and settings are not recorded";
  }
  if (count_in(row, "attention_dp_size", 1, 1024) > 1) return "attention is data-parallel";
  const std::int64_t expert_ranks = row.count("moe_ep_size").value_or(1);
  if (expert_ranks > 1 && expert_ranks != count_in(row, "tp_size", 1, 64)) {
    return "the experts are on different ranks than the layers";
  }
  if (row.text("system") != "h100_sxm" && row.text("system") != "b200_sxm") {
    return row.text("system") + " is not replayed";
  }
  if (row.text("backend") != "vllm" && row.text("backend") != "trtllm") {
    return row.text("backend") + " has no measured constants";
  }
  if (row.text("backend_version").starts_with("nightly")) return "a nightly build is not a release";
  const KnownSystem* system = system_of(row);
  if (system == nullptr || !catalog.has_model(system->id)) {
    return fmt::format("{} in {} is not replayed", row.text("model_path"), row.text("precision"));
  }
  return "";
}

std::string version_of(const FactRow& row) {
  const std::string& recorded = row.text("backend_version");
  // "1.2.0rc2.post2": releases matter, not candidates of them.
  const std::size_t dot = recorded.find('.');
  const std::size_t end =
      dot == std::string::npos ? dot : recorded.find_first_not_of("0123456789", dot + 1);
  if (dot != std::string::npos) return recorded.substr(0, end);
  return std::string(
      std::ranges::find(kReleases, row.text("backend"), &Release::engine)->unrecorded);
}

Json engine_of(const FactRow& row, bool h100) {
  const std::int64_t tp = count_in(row, "tp_size", 1, 64);
  const std::int64_t places = count_in(row, "batch_size", 1, kMostPlaces);
  if (row.text("backend") == "vllm") {
    return {{"name", "vllm"},
            {"version", version_of(row)},
            {"tensor_parallel_size", tp},
            {"enable_expert_parallel", whole_experts(row)},
            {"quantization", system_of(row)->quantization},
            {"max_model_len", kLongestRequest},
            {"max_num_seqs", places},
            {"max_num_batched_tokens", kStepTokens},
            {"gpu_memory_utilization", 0.9},
            {"kv_cache_dtype", h100 ? "bfloat16" : "fp8"},
            {"enable_prefix_caching", false},
            {"async_scheduling", true}};
  }
  return {{"name", "trtllm"},
          {"version", version_of(row)},
          {"tensor_parallel_size", tp},
          {"enable_expert_parallel", whole_experts(row)},
          {"quantization", system_of(row)->quantization},
          {"max_seq_len", kLongestRequest},
          {"max_batch_size", 1024},
          {"max_num_tokens", kLongestRequest},
          {"kv_cache_dtype", "fp8"},
          {"enable_block_reuse", false}};
}

// Loops that press on the pool depend on its size, which is not recorded: all places taken by
// requests in the middle of their outputs.
bool presses_on_the_pool(const MeasuredRun& run, const Catalog& catalog) {
  std::vector<Arrival> running(run.arrivals.begin(), run.arrivals.begin() + run.concurrency);
  for (Arrival& arrival : running) arrival.output_tokens /= 2;
  return !holds_at_once(run.scenario, running, catalog);
}

std::vector<Arrival> drawn(std::int64_t requests, std::int64_t prompt, std::int64_t output) {
  RandomStream prompts(kSeed, "measured/prompt");
  RandomStream outputs(kSeed, "measured/output");
  const auto draw = [](RandomStream& stream, std::int64_t most) {
    return static_cast<std::int32_t>(
        stream.uniform_int(std::max<std::int64_t>(1, most * 4 / 5), most));
  };
  std::vector<Arrival> arrivals;
  arrivals.reserve(static_cast<std::size_t>(requests));
  for (std::int64_t i = 0; i < requests; ++i) {
    Arrival arrival;
    arrival.prompt_tokens = draw(prompts, prompt);
    arrival.output_tokens = arrival.max_tokens = draw(outputs, output);
    arrivals.push_back(arrival);
  }
  return arrivals;
}

// One point: the median of what was measured there.
struct LoopPoint {
  const FactRow* row = nullptr;  // the first
  std::vector<double> tpot_ms;
};

std::string_view loop_device(const FactRow& row) {
  return row.text("system") == "h100_sxm" ? "h100-sxm" : "b200";
}

std::string point_of(const FactRow& row) {
  return fmt::format("{} {} {} {}/TP{}{} {}x{} c{:03}", loop_device(row), row.text("backend"),
                     version_of(row), name_of(*system_of(row)), count_in(row, "tp_size", 1, 64),
                     whole_experts(row) ? " EP" : "", count_in(row, "isl", 1, kMostMeasuredTokens),
                     count_in(row, "osl", 3, kMostMeasuredTokens),
                     count_in(row, "batch_size", 1, kMostPlaces));
}

bool served_few_at_a_time(const FactRow& row) {
  const double decode_ms = number_in(row, "silicon_tpot_ms", 1e-3, 1e6) *
                           number_in(row, "osl", 3, static_cast<double>(kMostMeasuredTokens));
  return row.number("silicon_ttft_ms").value_or(0) > kMostlyWaiting * decode_ms;
}

MeasuredRun run_of(const FactRow& row) {
  MeasuredRun run;
  run.scenario =
      recorded_system(fmt::format("{}:{}", row.file, row.line), std::string(system_of(row)->id),
                      loop_device(row), engine_of(row, row.text("system") == "h100_sxm"));
  const std::int64_t prompt = count_in(row, "isl", 1, kMostMeasuredTokens);
  const std::int64_t output = count_in(row, "osl", 3, kMostMeasuredTokens);
  run.concurrency = count_in(row, "batch_size", 1, kMostPlaces);
  run.arrivals = drawn(kPromptsPerPlace * run.concurrency, prompt, output);
  run.label = fmt::format("c{} {}/{} TP{} {}, {} on {}", run.concurrency, prompt, output,
                          run.scenario.engine.tensor_parallel_size, run.scenario.model,
                          row.text("backend"), loop_device(row));
  return run;
}

}  // namespace

void read_closed_loops(std::istream& in, const std::string& name, const Catalog& catalog,
                       MeasuredRuns& result) {
  const std::vector<FactRow> rows =
      read_facts(in, name + "/silicon_sample.csv",
                 {"backend", "backend_version", "model_path", "system", "precision", "mode", "isl",
                  "osl", "batch_size", "tp_size", "pp_size", "attention_dp_size", "moe_ep_size",
                  "silicon_ttft_ms", "silicon_tpot_ms"});
  refuse_copies(rows);
  std::map<std::string, LoopPoint> points;
  for (const FactRow& row : rows) {
    std::string why = why_no_loop(row, catalog);
    if (why.empty() && served_few_at_a_time(row)) {
      why = "mostly waiting: the server took few requests at a time";
    }
    if (!why.empty()) {
      result.excluded.push_back({fmt::format("{}/line {}", name, row.line), std::move(why)});
      continue;
    }
    LoopPoint& point = points[point_of(row)];
    if (point.row == nullptr) point.row = &row;
    point.tpot_ms.push_back(number_in(row, "silicon_tpot_ms", 1e-3, 1e6));
  }
  for (const auto& [load, point] : points) {
    MeasuredRun run = run_of(*point.row);
    run.data_set = fmt::format("{}/{}", name, load);
    run.measured = {{"mean_tpot_ms", median_of(point.tpot_ms)}};
    if (presses_on_the_pool(run, catalog)) {
      result.excluded.push_back(
          {run.data_set, "close to the size of the pool, which is not recorded"});
      continue;
    }
    result.runs.push_back(std::move(run));
  }
}

}  // namespace headroom
