// CUDA graphs: what they take, and what the profiling pass expects of them.
#include <algorithm>
#include <vector>

#include "sim/engines/vllm/budget.hpp"
#include "sim/engines/vllm/capture_sizes.hpp"

namespace headroom {
namespace {

constexpr EngineVersion kEstimatesGraphs{0, 20};
constexpr EngineVersion kEstimatesOnRocm{0, 26};
constexpr EngineVersion kSecondRunnerEstimates{0, 29};

// vllm/envs.py of 0.20.0: VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS is on (0.19.1: off; the log line
// says 0.21). v1/worker/gpu_worker.py, determine_available_memory: nothing is estimated on ROCm
// before 0.26. v1/worker/gpu/model_runner.py, profile_cudagraph_memory: the second runner answers
// 0 before 0.29.
bool graphs_in_budget(const BudgetInputs& in, const VllmBudgetOptions& options) {
  const EngineVersion version = options.version;
  if (options.enforce_eager) return false;
  if (in.device.vendor == "amd" && version < kEstimatesOnRocm) return false;
  if (!options.estimate_graphs.value_or(version >= kEstimatesGraphs)) return false;
  return version >= kSecondRunnerEstimates || !vllm_second_runner(in, options);
}

// Steps that are captured, in tokens. With drafts a decode step has 1 + drafts tokens of each
// sequence, which the largest size counts since 0.14 (vllm/config/vllm.py, _set_cudagraph_sizes)
// and of which every size is a multiple (config/compilation.py,
// adjust_cudagraph_sizes_for_spec_decode).
std::vector<std::int32_t> captured_sizes(const VllmBudgetOptions& options) {
  constexpr EngineVersion kCountsDrafts{0, 14};
  constexpr std::int32_t kMost = 512;
  const std::int32_t query = std::min(1 + options.draft_tokens, kMost);
  const std::int32_t counted = options.version >= kCountsDrafts ? query : 1;
  std::vector<std::int32_t> sizes =
      vllm_capture_sizes(std::min(options.max_num_seqs, kMost) * counted,
                         options.max_num_batched_tokens, options.max_capture);
  const std::int32_t largest = sizes.back();
  for (std::int32_t& size : sizes) size = (size + query - 1) / query * query;
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::erase_if(sizes, [largest](std::int32_t size) { return size > largest; });
  return sizes;
}

double layers_of_rank(const ModelSpec& model, const Sharding& sharding) {
  return static_cast<double>(model.layers()) / static_cast<double>(sharding.pipeline);
}

}  // namespace

ByteCount vllm_graph_bytes(const ModelSpec& model, const Sharding& sharding,
                           const VllmBudgetOptions& options) {
  if (options.enforce_eager) return 0;
  // 0.3 GiB + 0.0187 GiB per layer for the 51 sizes up to 512: 0.64-1.85 GiB on 32 start-ups of
  // vLLM 0.19 on H100, where this is 10 % off on average at TP1. Estimate for other numbers of
  // sizes.
  const auto sizes = static_cast<double>(captured_sizes(options).size());
  return bytes_from_gib((0.3 + 0.0187 * layers_of_rank(model, sharding)) * sizes / 51.0);
}

ByteCount vllm_graph_estimate_bytes(const BudgetInputs& in, const VllmBudgetOptions& options) {
  if (!graphs_in_budget(in, options)) return 0;
  // Where the host shares the memory, its own use moves the figure: -0.07 to 2.44 GiB in 19 logs of
  // a GB10, 0.76 on average, to which the real capture is nearer.
  if (in.device.memory_model == MemoryModel::unified) {
    return vllm_graph_bytes(in.model, in.sharding, options);
  }
  // The pass captures two sizes of each kind and takes the growth of the second for all others
  // (v1/worker/gpu_model_runner.py, profile_cudagraph_memory). Piecewise graphs have every size,
  // full ones those of decodes. Logged: 0.52 to 1.82 GiB with 102 graphs on 26 to 80 layers (0.19
  // on H100); with 86 0.51 on 32 (0.19.1), 0.53 on 28 (0.2x), 0.21 on 24 narrow ones (0.26); with
  // 30 0.14 on 48 (0.22.1), with 12 0.15 on 48 (0.26.1).
  constexpr double kGibPerLayer = 0.00022;
  const std::vector<std::int32_t> sizes = captured_sizes(options);
  const std::int64_t decodes = std::int64_t{options.max_num_seqs} * (1 + options.draft_tokens);
  const auto full =
      std::ranges::count_if(sizes, [decodes](std::int32_t size) { return size <= decodes; });
  return bytes_from_gib(kGibPerLayer * layers_of_rank(in.model, in.sharding) *
                        static_cast<double>(std::ssize(sizes) + full));
}

}  // namespace headroom
