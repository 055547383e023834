// Start-up logs of vLLM beside its budget: kv = total * utilization - weights - activation - growth
// outside torch - graphs, where they are in the budget.

#include <fmt/format.h>

#include <algorithm>

#include "sim/engines/engine_log.hpp"
#include "sim/engines/startup_attribution.hpp"
#include "sim/engines/vllm/budget.hpp"
#include "sim/engines/vllm/engine.hpp"
#include "sim/engines/vllm/startup_log.hpp"

namespace headroom {
namespace {

constexpr std::string_view kVllmMarks[] = {"vLLM API server version", "LLM engine (v",
                                           "KV cache memory", "GPU KV cache size:", "# GPU blocks"};

// Messages round the utilization to two digits, up to 0.4 GiB on an 80 GB device; the product with
// the total is preferred where it is printed.
FoundNumber vllm_share(const StartupLog& log) {
  const RankMemory& memory = log.memory;
  if (memory.requested_gib && memory.total_gib && memory.total_gib->value > 0) {
    return Found<double>{memory.requested_gib->value / memory.total_gib->value,
                         memory.requested_gib->line};
  }
  return log.gpu_memory_utilization;
}

std::optional<double> vllm_closure(const StartupLog& log, double pool_gib) {
  const RankMemory& memory = log.memory;
  const FoundNumber share = vllm_share(log);
  if (!share || !memory.weights_gib || !memory.activation_gib || !memory.non_torch_gib ||
      (log.graphs_in_budget && !memory.graph_estimate_gib)) {
    return std::nullopt;
  }
  const double graphs = log.graphs_in_budget ? memory.graph_estimate_gib->value : 0;
  return memory.total_gib->value * share->value - memory.weights_gib->value -
         memory.activation_gib->value - memory.non_torch_gib->value - graphs - pool_gib;
}

void vllm_options_of_log(const StartupLog& log, EngineSection& e,
                         std::vector<std::string>& assumptions) {
  const FoundNumber share = vllm_share(log);
  if (share) {
    e.gpu_memory_utilization = std::min(share->value, 1.0);
  } else {
    assumptions.emplace_back("gpu_memory_utilization: the release's default");
  }
  if (log.max_model_len) e.max_model_len = log.max_model_len->value;
  e.allow_long_max_model_len = true;  // the log's engine accepted it
  if (log.max_num_seqs) e.max_num_seqs = log.max_num_seqs->value;
  if (log.max_num_batched_tokens) e.max_num_batched_tokens = log.max_num_batched_tokens->value;
  if (log.block_size) e.block_size = log.block_size->value;
  if (!e.max_num_seqs) {
    assumptions.emplace_back("max_num_seqs: the release's default on this device");
  }
  if (!e.max_num_batched_tokens) {
    assumptions.emplace_back("max_num_batched_tokens: the release's default on this device");
  }
}

FoundNumber taken_by_others(const RankMemory& memory) {
  if (!memory.total_gib || !memory.free_gib) return std::nullopt;
  return Found<double>{memory.total_gib->value - memory.free_gib->value, memory.free_gib->line};
}

void attribute_graphs(Attributor& terms) {
  const RankMemory& memory = terms.log().memory;
  const ModelledMemory& modelled = terms.modelled();
  const double in_model = modelled.graphs_in_budget ? modelled.graph_gib : 0;
  if (!terms.log().graphs_in_budget) {
    terms.add_effect(
        MemoryCause::graphs, memory.graph_gib ? memory.graph_gib : memory.graph_estimate_gib,
        modelled.graph_gib, 0, in_model, "this start-up captures graphs outside the budget");
    return;
  }
  constexpr std::string_view kWhy = "estimate of the graphs, subtracted before the pool is sized";
  if (memory.graph_estimate_gib) {
    terms.add_effect(MemoryCause::graphs, memory.graph_estimate_gib, modelled.graph_gib, -1,
                     in_model - memory.graph_estimate_gib->value, std::string(kWhy));
  } else {
    terms.add(MemoryCause::graphs, std::nullopt, modelled.graph_gib, -1, std::string(kWhy));
  }
}

void vllm_attribute(Attributor& terms) {
  const RankMemory& memory = terms.log().memory;
  const ModelledMemory& modelled = terms.modelled();
  terms.add(MemoryCause::total_memory, memory.total_gib, modelled.total_gib, modelled.share,
            "device memory as the driver reports it, times the utilization");
  const double total = memory.total_gib ? memory.total_gib->value : modelled.total_gib;
  terms.add(MemoryCause::share, vllm_share(terms.log()), modelled.share, total,
            "gpu_memory_utilization");
  terms.add(MemoryCause::weights, memory.weights_gib, modelled.weights_gib, -1, "model loading");
  terms.add(MemoryCause::activation, memory.activation_gib, modelled.activation_gib, -1,
            "peak of torch in the profiling pass: sampler buffers, hidden states");
  terms.add(MemoryCause::outside_torch, memory.non_torch_gib, modelled.non_torch_gib, -1,
            "growth outside torch: context, NCCL, workspaces");
  attribute_graphs(terms);
  terms.add(MemoryCause::others, taken_by_others(memory), modelled.others_gib, 0,
            "not free before the start; counts only in the check of free memory");
}

}  // namespace

const EngineLog kVllmLog{
    .marks = kVllmMarks,
    .reader = []() -> std::unique_ptr<StartupLogReader> {
      return std::make_unique<VllmLogReader>();
    },
    .share = vllm_share,
    .closure_gib = vllm_closure,
    .set_options = vllm_options_of_log,
    .attribute = vllm_attribute,
    .modelled_share = [](const EngineSection& e) { return *e.gpu_memory_utilization; },
    .graphs_in_budget =
        [](const EngineSection& e, const EngineSystem& system) {
          const auto& own = e.own.get<VllmOptions>();
          const bool by_release = vllm_rule(system.version) == VllmRule::free_difference;
          return own.estimate_cuda_graphs.value_or(by_release) && !own.enforce_eager;
        },
};

}  // namespace headroom
