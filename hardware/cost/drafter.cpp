#include "hardware/cost/drafter.hpp"

#include <algorithm>
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

// `step`: the target's price of it.
void DrafterCost::add_drafts_behind(const StepShape& shape, const CostTerms& step,
                                    CostTerms& drafter) const {
  StepShape rows;
  rows.decode_rows = rows.sampled_rows = shape.sampled_rows;
  rows.decode_context = shape.decode_context;
  StepPrice one;
  target_->price(rows, one);
  // Logits only of what it drafts, also in the pass over all tokens.
  CostTerms first = step;
  first[CostTerm::head] = one.base_terms[CostTerm::head];
  add_pass(first, 1, drafter);
  add_pass(one.base_terms, options_.forwards - 1, drafter);
}

// The pass behind the step leaves the first drafts of the next one, so one pass less is ahead of
// it. Rows that verify nothing (beside a prompt) did not draft.
void DrafterCost::add_drafts_ahead(const StepShape& shape, const CostTerms& step,
                                   CostTerms& drafter) const {
  CostTerms behind = step;
  behind[CostTerm::head] = 0;
  if (shape.sampled_rows > 0) {
    StepShape sampled;
    sampled.decode_rows = sampled.sampled_rows = shape.sampled_rows;
    sampled.decode_context = std::max<TokenCount>(shape.decode_context, shape.sampled_rows);
    sampled.all_rank_tokens = shape.all_rank_tokens;
    StepPrice one;
    target_->price(sampled, one);
    behind[CostTerm::head] = one.base_terms[CostTerm::head];
  }
  add_pass(behind, 1, drafter);
  if (options_.forwards < 2 || shape.draft_tokens == 0) return;
  StepShape ahead;
  ahead.decode_rows = ahead.sampled_rows = shape.decode_rows;
  ahead.decode_context = shape.decode_context;
  ahead.draft_tokens = (options_.branches - 1) * shape.decode_rows;
  // As many tokens of each sequence on the other ranks, too.
  ahead.all_rank_tokens =
      shape.all_rank_tokens * (ahead.decode_rows + ahead.draft_tokens) / shape.decode_tokens();
  StepPrice pass;
  target_->price(ahead, pass);
  add_pass(pass.base_terms, options_.forwards - 1, drafter);
}

void DrafterCost::price(const StepShape& shape, StepPrice& price) const {
  target_->price(shape, price);
  price.valid_steps = 1;  // the drafter's slope is not in it
  price.base_terms[CostTerm::host] += options_.host_ticks;
  if (options_.forwards > 0 && (shape.sampled_rows > 0 || !options_.drafts_behind_prompts)) {
    CostTerms drafter;
    if (options_.drafts_behind_prompts) {
      add_drafts_behind(shape, price.base_terms, drafter);
    } else {
      add_drafts_ahead(shape, price.base_terms, drafter);
    }
    for (std::size_t t = 0; t < kCostTermCount; ++t) price.base_terms.ticks[t] += drafter.ticks[t];
  }
  price.base = price.base_terms.sum();
}

}  // namespace headroom
