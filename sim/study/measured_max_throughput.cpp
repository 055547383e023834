// Jobs of trtllm-bench from the performance overview of TensorRT-LLM 1.0 (NVIDIA, Apache-2.0): all
// requests at once, fixed lengths, GUARANTEED_NO_EVICT, 0.90 to 0.95 of the free memory for KV. The
// figure is the whole job's output throughput. trtllm-bench tunes max_batch_size and max_num_tokens
// itself and the page does not say to what: the engine's defaults are assumed, with room for a
// whole prompt in a step. FP4 jobs are left out while the catalog has no weights of their kind.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/study/measured_run.hpp"
#include "sim/study/memory_facts.hpp"

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
};

constexpr double kKvFraction = 0.95;
constexpr std::int64_t kMostSequences = 2048;  // the engine's max_batch_size
constexpr std::int64_t kMostRequests = 3000;   // the longest jobs repeat themselves long before

}  // namespace

void read_max_throughput(std::istream& in, const std::string& name, const Catalog& catalog,
                         MeasuredRuns& result) {
  const std::vector<FactRow> rows = read_facts(in, name + "/max_throughput.csv",
                                               {"model", "gpu", "tp", "pp", "precision", "isl",
                                                "osl", "total_output_tok_s", "num_requests"});
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
    Scenario& s = run.scenario;
    s.file = fmt::format("{}:{}", row.file, row.line);
    s.name = run.data_set;
    s.model = known->id;
    s.device.name = h100 ? "h100-sxm" : "b200";
    s.engine.name = "trtllm";
    s.engine.version = "1.0";
    s.engine.tensor_parallel_size = row.count("tp").value_or(1);
    s.engine.free_gpu_memory_fraction = kKvFraction;
    s.engine.quantization = known->quantization;
    s.engine.kv_cache_dtype = "fp8";
    const auto prompt = static_cast<std::int32_t>(row.count("isl").value_or(1));
    const auto output = static_cast<std::int32_t>(row.count("osl").value_or(1));
    s.engine.max_seq_len = prompt + output;
    // A step has room for a whole prompt beside all decoding sequences, or they would take turns.
    s.engine.max_num_tokens = std::max(s.engine.max_num_tokens, prompt + kMostSequences);
    const std::int64_t requests = std::min(row.count("num_requests").value_or(1), kMostRequests);
    Arrival arrival;
    arrival.prompt_tokens = prompt;
    arrival.output_tokens = arrival.max_tokens = output;
    run.arrivals.assign(static_cast<std::size_t>(requests), arrival);
    run.measured = {{"output_throughput", row.number("total_output_tok_s").value_or(0)}};
    run.label = fmt::format("{} on {} TP{}, {}/{}", s.model, s.device.name,
                            s.engine.tensor_parallel_size, prompt, output);
    result.runs.push_back(std::move(run));
  }
}

}  // namespace headroom
