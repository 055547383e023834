// LoRA adapters: vLLM's options (vllm/config/lora.py), and what its V1 engine runs them with.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hardware/llm/lora.hpp"
#include "sim/resolve/resolver.hpp"

namespace headroom {
namespace {

constexpr std::array<std::int64_t, 9> kRanks{1, 8, 16, 32, 64, 128, 256, 320, 512};

}  // namespace

void Resolver::resolve_lora() {
  EngineSection& e = r_.scenario.engine;
  if (!e.enable_lora) return;
  if (!r_.scheduler->traits.serves_lora) {
    r_.scenario.refuse("/engine/enable_lora", "modelled with scheduler vllm only (V1, from 0.8)",
                       ErrorKind::unsupported);
  }
  if (serves_by_priority(r_)) {
    r_.scenario.refuse("/engine/scheduling_policy", "only fcfs is modelled with LoRA",
                       ErrorKind::unsupported);
  }
  if (e.speculative.is_on()) {
    r_.scenario.refuse("/engine/speculative_config/method", "drafts are not modelled with LoRA",
                       ErrorKind::unsupported);
  }
  if (std::ranges::find(kRanks, e.max_lora_rank) == kRanks.end()) {
    r_.scenario.refuse_value("/engine/max_lora_rank", fmt::to_string(e.max_lora_rank),
                             fmt::format("expected one of {}", fmt::join(kRanks, ", ")));
  }
  engine_.fill("/engine/max_cpu_loras", e.max_cpu_loras, e.max_loras, "max_loras");
  if (*e.max_cpu_loras < e.max_loras) {
    r_.scenario.refuse_value("/engine/max_cpu_loras", fmt::to_string(*e.max_cpu_loras),
                             fmt::format("expected at least max_loras = {}", e.max_loras));
  }
  if (e.fully_sharded_loras && e.tensor_parallel_size == 1) {
    r_.scenario.refuse_unused("/engine/fully_sharded_loras", " on one rank");
  }
  if (e.fully_sharded_loras && e.max_lora_rank % e.tensor_parallel_size != 0) {
    r_.scenario.refuse("/engine/fully_sharded_loras",
                       fmt::format("max_lora_rank {} is not divisible by {} ranks", e.max_lora_rank,
                                   e.tensor_parallel_size));
  }
  engine_.lookup("/engine/enable_lora", [&] {
    return lora_size(r_.model, r_.sharding, 0, {e.max_lora_rank, e.fully_sharded_loras});
  });
  r_.warnings.emplace_back(
      "LoRA: the time of adapter kernels and loads is computed and was not compared with "
      "measurements (uncalibrated); extra CUDA graphs for LoRA are not in the budget");
}

}  // namespace headroom
