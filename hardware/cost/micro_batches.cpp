#include "hardware/cost/micro_batches.hpp"

#include <algorithm>
#include <utility>

namespace headroom {
namespace {

// Prompt tokens [first, first + count) of those of a step.
void add_prompts(const StepShape& whole, TokenCount first, TokenCount count, StepShape& part) {
  const TokenCount all = whole.chunk_tokens;
  part.chunk_tokens = count;
  part.chunk_rows = std::max<std::int64_t>(1, whole.chunk_rows * count / all);
  // Tokens before the step that a prompt of this part attends to, and before this part of it.
  const TokenCount cached = (whole.chunk_context - all) * part.chunk_rows / whole.chunk_rows;
  const TokenCount own = whole.chunk_rows == 1 ? first : 0;
  part.chunk_context = cached + own + count;
  if (whole.chunk_rows == 1) {
    part.chunk_pairs_twice = count * (2 * (cached + first) + count);
  } else {
    part.chunk_pairs_twice =
        whole.chunk_pairs_twice / all * count + whole.chunk_pairs_twice % all * count / all;
  }
}

// Calls `take(part)` with every micro batch of a step of more than `tokens`.
template <typename Take>
void for_each_part(const StepShape& whole, std::int64_t tokens, Take take) {
  StepShape part = whole;
  TokenCount done = 0;
  TokenCount room = std::max<TokenCount>(0, tokens - whole.decode_tokens());
  while (true) {
    const TokenCount count = std::min(room, whole.chunk_tokens - done);
    const bool is_last = done + count == whole.chunk_tokens;
    part.chunk_rows = part.chunk_tokens = part.chunk_context = part.chunk_pairs_twice = 0;
    if (count > 0) add_prompts(whole, done, count, part);
    const std::int64_t of_prompts = std::max<std::int64_t>(
        0, whole.sampled_rows - std::min(whole.sampled_rows, whole.decode_rows));
    const std::int64_t of_decodes = part.decode_rows > 0 ? whole.sampled_rows - of_prompts : 0;
    part.sampled_rows = of_decodes + (is_last ? of_prompts : 0);
    take(part);
    if (is_last) return;
    done += count;
    room = tokens;
    part = StepShape{};
  }
}

}  // namespace

MicroBatchCost::MicroBatchCost(std::unique_ptr<StepCost> forward, std::int64_t tokens)
    : forward_(std::move(forward)), tokens_(std::max<std::int64_t>(1, tokens)) {}

void MicroBatchCost::price(const StepShape& shape, StepPrice& price) const {
  if (shape.chunk_rows == 0 || shape.decode_tokens() + shape.chunk_tokens <= tokens_) {
    forward_->price(shape, price);
    return;
  }
  price = StepPrice{};
  for_each_part(shape, tokens_, [&](const StepShape& part) {
    StepPrice one;
    forward_->price(part, one);
    price.base += one.base;
    price.slope += one.slope;
    price.valid_steps = std::min(price.valid_steps, one.valid_steps);
    for (std::size_t i = 0; i < kCostTermCount; ++i) {
      price.base_terms.ticks.at(i) += one.base_terms.ticks.at(i);
    }
    price.slope_terms.attention_decode += one.slope_terms.attention_decode;
    price.slope_terms.host += one.slope_terms.host;
    price.slope_terms.pipeline += one.slope_terms.pipeline;
  });
}

bool MicroBatchCost::split(const StepShape& shape, const StepPrice& price,
                           StageTimes& times) const {
  if (shape.chunk_rows == 0 || shape.decode_tokens() + shape.chunk_tokens <= tokens_) {
    return forward_->split(shape, price, times);
  }
  bool has_stages = true;
  times = StageTimes{};
  for_each_part(shape, tokens_, [&](const StepShape& part) {
    StepPrice one;
    StageTimes own;
    forward_->price(part, one);
    has_stages = has_stages && forward_->split(part, one, own);
    times.busy.resize(std::max(times.busy.size(), own.busy.size()));
    for (std::size_t i = 0; i < own.busy.size(); ++i) times.busy[i] += own.busy[i];
    times.prepare += own.prepare;
    times.hand_over_in_all += own.hand_over_in_all;
    times.host += own.host;
  });
  return has_stages;
}

}  // namespace headroom
