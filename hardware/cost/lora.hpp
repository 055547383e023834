#pragma once
// Step time of an engine with LoRA adapters: the step of the plain model, plus the kernels of the
// adapters (docs/fidelity.md). This term was not compared with measurements.

#include <memory>

#include "hardware/engine_version.hpp"
#include "hardware/llm/lora.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

// Two kernels (shrink, expand) and a buffer to clear for each fused matrix, whatever is in the
// batch: vLLM pull request 25914 measured 10.5 % more latency of Llama-2-7B without an active
// adapter (0.844 s for 128 tokens, 32 layers of 4 fused matrices): 0.0887 s / 128 / 128 = 5.4 us.
inline constexpr double kLoraModuleNs = 5'400;

// From that pull request on (0.11.1; here the release after 0.11) graphs without adapters are
// captured too, and a batch that uses none does not pay.
inline constexpr EngineVersion kLoraGraphsApart{0, 12};

struct LoraCostOptions {
  Ticks step_ticks = 0;     // launches, in a step with an adapter
  bool every_step = false;  // in every step
  Ticks adapter_ticks = 0;  // A and B of one adapter are read
  Ticks token_ticks = 0;    // 2 flops for each of their elements
};

// `bytes_per_s`, `flops_per_s`: what the matrix products of the step reach.
[[nodiscard]] LoraCostOptions lora_cost_options(const LoraSize& size, ByteCount element_bytes,
                                                double bytes_per_s, double flops_per_s);

class LoraCost final : public StepCost {
 public:
  LoraCost(std::unique_ptr<StepCost> model, const LoraCostOptions& options);
  void price(const StepShape& shape, StepPrice& price) const override;

 private:
  std::unique_ptr<StepCost> model_;
  LoraCostOptions options_;
};

}  // namespace headroom
