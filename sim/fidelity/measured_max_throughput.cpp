// Jobs of trtllm-bench from the performance overview of TensorRT-LLM 1.0 (NVIDIA, Apache-2.0): all
// requests at once, fixed lengths, GUARANTEED_NO_EVICT, 0.90 to 0.95 of the free memory for KV. The
// figure is the whole job's output throughput. The page captures graphs of up to 8192 sequences,
// and gives models of experts attention by data ranks (enable_attention_dp) and --ep.
// trtllm-bench tunes max_batch_size and max_num_tokens itself and the page does not say to what:
// the engine's defaults are assumed, with room for a whole prompt in a step.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/fidelity/measured_run.hpp"

namespace headroom {
namespace {

struct KnownCheckpoint {
  std::string_view model;
  std::string_view precision;
  std::string_view id;
  std::string_view quantization = "auto";  // of the weights, where the row is of the 16-bit model
};
constexpr std::array kCheckpoints{
    KnownCheckpoint{"Llama-3.3-70B", "FP8", "llama-3.3-70b-fp8-dynamic"},
    KnownCheckpoint{"Llama-4-Scout", "FP8", "llama-4-scout-fp8-dynamic"},
    KnownCheckpoint{"Llama-3.1-8B", "FP8", "llama-3.1-8b", "fp8"},
    KnownCheckpoint{"Llama-3.1-405B", "FP8", "llama-3.1-405b", "fp8"},
    KnownCheckpoint{"Qwen3-235B-A22B", "FP8", "qwen3-235b-a22b-fp8"},
    KnownCheckpoint{"Llama-3.3-70B", "FP4", "llama-3.3-70b-nvfp4"},
    KnownCheckpoint{"Llama-3.1-405B", "FP4", "llama-3.1-405b", "nvfp4"},
    KnownCheckpoint{"Qwen3-235B-A22B", "FP4", "qwen3-235b-a22b-nvfp4"},
    KnownCheckpoint{"Qwen3-30B-A3B", "FP4", "qwen3-30b-a3b", "nvfp4"},
    KnownCheckpoint{"Llama-4-Scout", "FP4", "llama-4-scout", "nvfp4"},
};

constexpr double kKvFraction = 0.95;
constexpr std::int64_t kDefaultStepTokens = 8192;
constexpr std::int64_t kMostSequences = 2048;    // the engine's max_batch_size
constexpr std::int64_t kLargestGraph = 8192;     // sequences
constexpr std::int64_t kLargestJob = 1'000'000;  // requests

}  // namespace

void read_max_throughput(std::istream& in, const std::string& name, const Catalog& catalog,
                         MeasuredRuns& result) {
  const std::vector<FactRow> rows = read_facts(in, name + "/max_throughput.csv",
                                               {"model", "gpu", "tp", "pp", "precision", "isl",
                                                "osl", "total_output_tok_s", "num_requests"});
  refuse_copies(rows);
  for (const FactRow& row : rows) {
    MeasuredRun run;
    run.data_set = fmt::format("{}/{} {} TP{} {}/{}", name, row.text("model"), row.text("gpu"),
                               row.text("tp"), row.text("isl"), row.text("osl"));
    const auto* known = std::ranges::find_if(kCheckpoints, [&](const KnownCheckpoint& c) {
      return c.model == row.text("model") && c.precision == row.text("precision") &&
             catalog.has_model(c.id);
    });
    const bool h100 = row.text("gpu") == "H100";
    if (known == kCheckpoints.end() || (!h100 && row.text("gpu") != "B200")) {
      result.excluded.push_back(
          {run.data_set, fmt::format("no {} weights in the catalog", row.text("precision"))});
      continue;
    }
    if (count_in(row, "pp", 1, 1024) > 1) {
      result.excluded.push_back({run.data_set, "pipeline stages are not replayed"});
      continue;
    }
    const auto prompt = static_cast<std::int32_t>(count_in(row, "isl", 1, kMostMeasuredTokens));
    const auto output = static_cast<std::int32_t>(count_in(row, "osl", 1, kMostMeasuredTokens));
    const std::string_view device = h100 ? "h100-sxm" : "b200";
    // A step has room for a whole prompt beside all decoding sequences, or they would take turns.
    const std::int64_t step = std::max(kDefaultStepTokens, prompt + kMostSequences);
    const std::int64_t ranks = count_in(row, "tp", 1, 64);
    Json engine = {{"name", "trtllm"},
                   {"version", "1.0"},
                   {"free_gpu_memory_fraction", kKvFraction},
                   {"quantization", known->quantization},
                   {"kv_cache_dtype", "fp8"},
                   {"cuda_graph_max_batch_size", kLargestGraph},
                   {"max_seq_len", prompt + output},
                   {"max_num_tokens", step}};
    const bool splits = ranks > 1 && has_experts(catalog.model(known->id));
    engine[splits ? "data_parallel_size" : "tensor_parallel_size"] = ranks;
    if (splits) engine["enable_expert_parallel"] = true;
    run.scenario = recorded_system(fmt::format("{}:{}", row.file, row.line), std::string(known->id),
                                   device, engine);
    const std::int64_t requests = count_in(row, "num_requests", 1, kLargestJob);
    Arrival arrival;
    arrival.prompt_tokens = prompt;
    arrival.output_tokens = arrival.max_tokens = output;
    run.arrivals.assign(static_cast<std::size_t>(requests), arrival);
    run.at_the_engine = true;
    run.measured = {{"output_throughput", number_in(row, "total_output_tok_s", 1e-3, 1e12)}};
    run.label = fmt::format("{} on {} {}{}, {}/{}", run.scenario.model, device,
                            splits ? "DP" : "TP", ranks, prompt, output);
    result.runs.push_back(std::move(run));
  }
}

}  // namespace headroom
