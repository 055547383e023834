#pragma once
// What a running engine has left, from its start-up budget and its environment.

#include <optional>
#include <string>

#include "hardware/budget/budget.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/serving/run_time_memory.hpp"

namespace headroom {

// For a budget that starts. Charges only what the scenario requests.
[[nodiscard]] RunTimeMemory run_time_memory(const Resolved& resolved, const MemoryBudget& budget);

// Bytes that one prompt token needs for its log-probabilities: logits over the vocabulary in the
// model's type, and their log-softmax in fp32 (vLLM: compute_logits and log_softmax(dtype=float32)
// of all positions of a chunk; issues 5907 and 14239: not in the profiled peak, and it kills the
// engine). Every rank holds the whole vocabulary.
[[nodiscard]] ByteCount logprob_bytes_per_token(const ModelSpec& model);

// When growth by the hour ends an engine that stays up.
struct MemoryGrowthEnd {
  double lasts_s = 0;
  OomKind kind = OomKind::runtime_device;
  std::string text;
};
[[nodiscard]] std::optional<MemoryGrowthEnd> memory_growth(const Resolved& resolved,
                                                           const MemoryBudget& budget);

}  // namespace headroom
