#include "hardware/cost/drafter.hpp"

#include <array>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kWholePpm = 1'000'000;
constexpr std::array kLayerTerms = {CostTerm::linear_memory,    CostTerm::linear_compute,
                                    CostTerm::elementwise,      CostTerm::attention_prefill,
                                    CostTerm::attention_decode, CostTerm::communication};

Ticks scaled(Ticks ticks, std::int64_t times, std::int64_t ppm) {
  return static_cast<Ticks>(static_cast<TickSum>(ticks) * times * ppm / kWholePpm);
}

}  // namespace

DrafterCost::DrafterCost(std::unique_ptr<StepCost> target, const DrafterOptions& options)
    : target_(std::move(target)), options_(options) {
  HEADROOM_CHECK(options.forwards >= 0 && options.host_ticks >= 0, "a drafter that costs < 0");
  HEADROOM_CHECK(options.share_ppm >= 0 && options.share_ppm <= kWholePpm,
                 "a drafter larger than its target");
}

void DrafterCost::add_pass(const CostTerms& target, std::int64_t times, CostTerms& sum) const {
  for (const CostTerm term : kLayerTerms) {
    sum[term] += scaled(target[term], times, options_.share_ppm);
  }
  const std::int64_t head = options_.uses_target_head ? kWholePpm : options_.share_ppm;
  sum[CostTerm::head] += scaled(target[CostTerm::head], times, head);
}

void DrafterCost::price(const StepShape& shape, StepPrice& price) const {
  target_->price(shape, price);
  price.valid_steps = 1;  // the drafter's slope is not in it
  price.base_terms[CostTerm::host] += options_.host_ticks;
  if (options_.forwards > 0 && shape.sampled_rows > 0) {
    StepShape rows;
    rows.decode_rows = rows.sampled_rows = shape.sampled_rows;
    rows.decode_context = shape.decode_context;
    StepPrice one;
    target_->price(rows, one);
    // Logits only of what it drafts, also in the pass over all tokens.
    CostTerms first = price.base_terms;
    first[CostTerm::head] = one.base_terms[CostTerm::head];
    CostTerms drafter;
    add_pass(first, 1, drafter);
    add_pass(one.base_terms, options_.forwards - 1, drafter);
    for (std::size_t t = 0; t < kCostTermCount; ++t) price.base_terms.ticks[t] += drafter.ticks[t];
  }
  price.base = price.base_terms.sum();
}

}  // namespace headroom
