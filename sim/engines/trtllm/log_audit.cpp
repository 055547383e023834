// Start-up logs of TensorRT-LLM beside its budget: kv = fraction * (total - peak + temporary),
// where the peak is weights, activations and everything else that is not free when the pool is
// sized.

#include <fmt/format.h>

#include <algorithm>

#include "sim/engines/engine_log.hpp"
#include "sim/engines/startup_attribution.hpp"
#include "sim/engines/trtllm/engine.hpp"
#include "sim/engines/trtllm/startup_log.hpp"

namespace headroom {
namespace {

constexpr std::string_view kTrtllmMarks[] = {"[TensorRT-LLM]", "[TRT-LLM]"};

std::optional<double> trtllm_closure(const StartupLog& log, double pool_gib) {
  const RankMemory& memory = log.memory;
  if (!memory.peak_gib || !memory.fraction) return std::nullopt;
  const double temporary = memory.temporary_gib ? memory.temporary_gib->value : 0;
  return memory.fraction->value * (memory.total_gib->value - memory.peak_gib->value + temporary) -
         pool_gib;
}

void trtllm_options_of_log(const StartupLog& log, EngineSection& e,
                           std::vector<std::string>& assumptions) {
  auto& own = e.own.edit<TrtllmOptions>();
  if (log.memory.fraction) {
    own.free_gpu_memory_fraction = std::min(log.memory.fraction->value, 1.0);
  } else {
    assumptions.push_back(
        fmt::format("free_gpu_memory_fraction = {}: not in the log", own.free_gpu_memory_fraction));
  }
  if (log.max_model_len) own.max_seq_len = log.max_model_len->value;
  if (log.max_num_seqs) e.max_batch_size = log.max_num_seqs->value;
  if (log.max_num_batched_tokens) own.max_num_tokens = log.max_num_batched_tokens->value;
  if (log.tokens_per_block) own.tokens_per_block = log.tokens_per_block->value;
}

// What the model expects not to be free, weights and activations apart.
double modelled_outside(const ModelledMemory& modelled) {
  return modelled.non_torch_gib + modelled.graph_gib + modelled.others_gib;
}

void attribute_outside(Attributor& terms) {
  const RankMemory& memory = terms.log().memory;
  FoundNumber outside = memory.non_torch_gib;
  if (memory.temporary_gib) outside->value -= memory.temporary_gib->value;
  terms.add(MemoryCause::outside_torch, outside, modelled_outside(terms.modelled()),
            -terms.modelled().share,
            "outside torch: context, graphs, other processes and page cache, without the temporary "
            "pool of the profiling pass");
}

void trtllm_attribute(Attributor& terms) {
  const RankMemory& memory = terms.log().memory;
  const ModelledMemory& modelled = terms.modelled();
  const double share = modelled.share;
  const double peak = modelled.weights_gib + modelled.activation_gib + modelled_outside(modelled);
  terms.add(MemoryCause::total_memory, memory.total_gib, modelled.total_gib, share,
            "device memory as the driver reports it, times the fraction");
  if (memory.weights_gib && memory.activation_gib && memory.non_torch_gib) {
    terms.add(MemoryCause::weights, memory.weights_gib, modelled.weights_gib, -share,
              "weights inside torch");
    terms.add(MemoryCause::activation, memory.activation_gib, modelled.activation_gib, -share,
              "allocated by torch in the profiling pass");
    attribute_outside(terms);
  } else {
    terms.add(MemoryCause::peak, memory.peak_gib, peak, -share,
              "not free when the pool is sized, including other processes and page cache");
  }
  const double total = memory.total_gib ? memory.total_gib->value : modelled.total_gib;
  double used = memory.peak_gib ? memory.peak_gib->value : peak;
  if (memory.temporary_gib) used -= memory.temporary_gib->value;
  terms.add(MemoryCause::share, memory.fraction, share, total - used, "free_gpu_memory_fraction");
}

}  // namespace

const EngineLog kTrtllmLog{
    .marks = kTrtllmMarks,
    .reader = []() -> std::unique_ptr<StartupLogReader> {
      return std::make_unique<TrtllmLogReader>();
    },
    .share = [](const StartupLog& log) { return log.memory.fraction; },
    .closure_gib = trtllm_closure,
    .set_options = trtllm_options_of_log,
    .attribute = trtllm_attribute,
    .modelled_share =
        [](const EngineSection& e) { return e.own.get<TrtllmOptions>().free_gpu_memory_fraction; },
    .graphs_in_budget = [](const EngineSection&, const EngineSystem&) { return false; },
};

}  // namespace headroom
