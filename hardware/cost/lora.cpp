#include "hardware/cost/lora.hpp"

#include <utility>

#include "hardware/cost/ticks.hpp"
#include "sim/kernel/check.hpp"

namespace headroom {

LoraCostOptions lora_cost_options(const LoraSize& size, ByteCount element_bytes, double bytes_per_s,
                                  double flops_per_s) {
  const auto elements = static_cast<double>(size.rank_elements);
  LoraCostOptions options;
  options.step_ticks = ticks_from_ns(kLoraModuleNs * static_cast<double>(size.modules));
  options.adapter_ticks =
      ticks_from_ns(elements * static_cast<double>(element_bytes) / bytes_per_s * 1e9);
  options.token_ticks = ticks_from_ns(2 * elements / flops_per_s * 1e9);
  return options;
}

LoraCost::LoraCost(std::unique_ptr<StepCost> model, const LoraCostOptions& options)
    : model_(std::move(model)), options_(options) {
  HEADROOM_CHECK(options.step_ticks >= 0 && options.adapter_ticks >= 0 && options.token_ticks >= 0,
                 "adapters that cost < 0");
}

// Nothing of it grows with the context.
void LoraCost::price(const StepShape& shape, StepPrice& price) const {
  model_->price(shape, price);
  const auto add = [&price](CostTerm term, Ticks ticks) {
    price.base += ticks;
    price.base_terms[term] += ticks;
  };
  if (shape.adapters > 0 || options_.every_step) add(CostTerm::step_overhead, options_.step_ticks);
  add(CostTerm::linear_memory, options_.adapter_ticks * shape.adapters);
  add(CostTerm::linear_compute, options_.token_ticks * shape.adapter_tokens);
}

}  // namespace headroom
