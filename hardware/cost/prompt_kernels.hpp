#pragma once
// Steps priced from two sides, for a device whose fitted constants were chosen by decodes alone:
// decodes by these constants, prompts by measured kernels.

#include <memory>

#include "sim/serving/step_cost.hpp"

namespace headroom {

class PromptKernelsCost final : public StepCost {
 public:
  PromptKernelsCost(std::unique_ptr<StepCost> decodes, std::unique_ptr<StepCost> kernels);

  // A step without prompts as `decodes` price it. Any other one as its kernels, plus what the
  // step of its decoding sequences alone (of one, where there is none) takes beyond theirs.
  void price(const StepShape& shape, StepPrice& price) const override;

 private:
  std::unique_ptr<StepCost> decodes_;
  std::unique_ptr<StepCost> kernels_;
};

}  // namespace headroom
