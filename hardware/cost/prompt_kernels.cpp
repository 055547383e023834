#include "hardware/cost/prompt_kernels.hpp"

#include <algorithm>
#include <utility>

namespace headroom {
namespace {

StepShape without_prompts(const StepShape& shape) {
  StepShape decodes;
  decodes.decode_rows = shape.decode_rows;
  decodes.decode_context = shape.decode_context;
  decodes.draft_tokens = shape.draft_tokens;
  if (decodes.decode_rows == 0) decodes.decode_rows = decodes.decode_context = 1;
  decodes.sampled_rows = decodes.decode_rows;
  return decodes;
}

}  // namespace

PromptKernelsCost::PromptKernelsCost(std::unique_ptr<StepCost> decodes,
                                     std::unique_ptr<StepCost> kernels)
    : decodes_(std::move(decodes)), kernels_(std::move(kernels)) {}

void PromptKernelsCost::price(const StepShape& shape, StepPrice& price) const {
  if (shape.chunk_rows == 0) {
    decodes_->price(shape, price);
    return;
  }
  const StepShape decodes = without_prompts(shape);
  StepPrice fitted;
  StepPrice measured;
  decodes_->price(decodes, fitted);
  kernels_->price(decodes, measured);
  kernels_->price(shape, price);
  const Ticks more = std::max<Ticks>(0, fitted.base - measured.base);
  price.base += more;
  price.base_terms[CostTerm::step_overhead] += more;
}

}  // namespace headroom
