#pragma once
// A step that the engine computes as several forwards of at most so many tokens, one behind the
// other (llama.cpp's n_ubatch): each of them reads the weights.

#include <cstdint>
#include <memory>

#include "sim/serving/step_cost.hpp"

namespace headroom {

class MicroBatchCost final : public StepCost {
 public:
  // `tokens` >= 1: of a micro batch.
  MicroBatchCost(std::unique_ptr<StepCost> forward, std::int64_t tokens);

  // The sum over the micro batches. Decoding sequences are in the first; the last yields the tokens
  // of prompts that end. Several prompts of a step count as equally long, one after the other.
  void price(const StepShape& shape, StepPrice& price) const override;
  [[nodiscard]] bool split(const StepShape& shape, const StepPrice& price,
                           StageTimes& times) const override;

 private:
  std::unique_ptr<StepCost> forward_;
  std::int64_t tokens_;
};

}  // namespace headroom
