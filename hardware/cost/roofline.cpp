#include "hardware/cost/roofline.hpp"

#include <algorithm>

#include "hardware/cost/capture_sizes.hpp"
#include "sim/kernel/likely.hpp"

namespace headroom {
namespace {

bool in_table(std::int64_t index, std::size_t size) {
  return static_cast<std::uint64_t>(index) < size;
}

}  // namespace

RooflineCost::LinearTicks RooflineCost::linear(std::int64_t tokens, TokenCount all_tokens) const {
  if (rarely(all_tokens > tokens) || rarely(!in_table(tokens, linear_table_.size()))) {
    return compute_linear(tokens, std::max(tokens, all_tokens));
  }
  return linear_table_[static_cast<std::size_t>(tokens)];
}

Ticks RooflineCost::head(std::int64_t rows) const {
  return in_table(rows, head_table_.size()) ? head_table_[static_cast<std::size_t>(rows)]
                                            : compute_head(rows);
}

CostTerms RooflineCost::compute_decode(std::int64_t rows, TokenCount all_tokens) const {
  // Only the matrix products run on the padded batch (FIDELITY.md 1: Tpad).
  const LinearTicks products = linear(padded_rows(rows, capture_sizes_), all_tokens);
  CostTerms terms;
  terms[CostTerm::linear_memory] = products.memory;
  terms[CostTerm::linear_compute] = products.compute;
  terms[CostTerm::elementwise] = elementwise_step_ + elementwise_token_ * rows;
  terms[CostTerm::attention_decode] = attention_floor_ + attention_row_ * rows;
  terms[CostTerm::head] = head(rows);
  terms[CostTerm::communication] = overheads_.communication(rows, all_tokens);
  terms[CostTerm::step_overhead] = overheads_.step;
  return terms;
}

// Inlined, so that its result is never written in parts and read back as a whole.
[[gnu::always_inline]] inline RooflineCost::ContextPrice RooflineCost::decode_context(
    const StepShape& shape, Ticks Reach::*ticks) const {
  const std::int64_t rows = shape.decode_rows;
  ContextPrice price{whole_.*ticks * shape.decode_context, whole_.*ticks * rows, kManySteps};
  for (const Reach& reach : windows_) {
    const TokenCount most = reach.window * rows;
    price.base += reach.*ticks * std::min(shape.decode_context, most);
    if (shape.decode_context >= most) continue;
    price.slope += reach.*ticks * rows;
    // Not the step in which the window is just full: from there on the price has another slope.
    price.valid_steps = std::min(price.valid_steps, (most - shape.decode_context - 1) / rows + 1);
  }
  return price;
}

Ticks RooflineCost::prefill_attention(const StepShape& shape) const {
  Ticks sum =
      whole_.pair_twice * shape.chunk_pairs_twice + whole_.prefill_context * shape.chunk_context;
  const TokenCount cached = shape.chunk_context - shape.chunk_tokens;
  for (const Reach& reach : windows_) {
    // Tokens of all chunks that see everything before them; the others see `window` tokens.
    const TokenCount most = reach.window * shape.chunk_rows;
    const TokenCount within = std::clamp<TokenCount>(most - cached, 0, shape.chunk_tokens);
    const std::int64_t pairs_twice = within == shape.chunk_tokens
                                         ? shape.chunk_pairs_twice
                                         : within * (2 * cached + within) / shape.chunk_rows +
                                               2 * reach.window * (shape.chunk_tokens - within);
    sum += reach.pair_twice * pairs_twice +
           reach.prefill_context * (std::min(cached, most) + shape.chunk_tokens);
  }
  return sum;
}

void RooflineCost::price(const StepShape& shape, StepPrice& price) const {
  price.valid_steps = kManySteps;
  if (shape.chunk_rows == 0 && shape.draft_tokens == 0) {
    price_decode_only(shape, price);
  } else if (shape.chunk_rows == 0) {
    price_verification(shape, price);
  } else {
    price_mixed(shape, price);
  }
  overheads_.add_host(shape, price);
}

void RooflineCost::price_decode_only(const StepShape& shape, StepPrice& price) const {
  const std::int64_t rows = shape.decode_rows;
  const ContextPrice context = decode_context(shape, &Reach::context);
  if (shape.all_rank_tokens == 0 && in_table(rows, decode_table_.size())) {
    const DecodeEntry& entry = decode_table_[static_cast<std::size_t>(rows)];
    price.base_terms = entry.terms;
    price.base = entry.sum + context.base;
  } else {
    price.base_terms = compute_decode(rows, shape.all_rank_tokens);
    price.base = price.base_terms.sum() + context.base;
  }
  price.base_terms[CostTerm::attention_decode] += context.base;
  if (rarely(shape.sampled_rows != rows)) {
    const Ticks sampled = head(shape.sampled_rows);
    price.base += sampled - price.base_terms[CostTerm::head];
    price.base_terms[CostTerm::head] = sampled;
  }
  price.slope = context.slope;
  price.valid_steps = context.valid_steps;
  price.slope_terms = {.attention_decode = price.slope};
}

// Decodes with drafts: products, logits and captured sizes go by tokens, while attention reads the
// KV of a sequence once for all its tokens (ENGINES.md 5).
void RooflineCost::price_verification(const StepShape& shape, StepPrice& price) const {
  const TokenCount tokens = shape.decode_tokens();
  const LinearTicks products = linear(padded_rows(tokens, capture_sizes_), shape.all_rank_tokens);
  CostTerms& terms = price.base_terms;
  terms = CostTerms{};
  terms[CostTerm::linear_memory] = products.memory;
  terms[CostTerm::linear_compute] = products.compute;
  terms[CostTerm::elementwise] = elementwise_step_ + elementwise_token_ * tokens;
  const ContextPrice context = decode_context(shape, &Reach::context);
  terms[CostTerm::attention_decode] =
      attention_floor_ + attention_row_ * shape.decode_rows + context.base;
  terms[CostTerm::head] = head(shape.sampled_rows + shape.draft_tokens);
  terms[CostTerm::communication] = overheads_.communication(tokens, shape.all_rank_tokens);
  terms[CostTerm::step_overhead] = overheads_.step;
  price.base = terms.sum();
  price.slope = context.slope;
  price.valid_steps = context.valid_steps;
  price.slope_terms = {.attention_decode = price.slope};
}

void RooflineCost::price_mixed(const StepShape& shape, StepPrice& price) const {
  const std::int64_t tokens = shape.decode_tokens() + shape.chunk_tokens;
  const LinearTicks products = linear(tokens, shape.all_rank_tokens);
  const Ticks elementwise = elementwise_step_ + elementwise_token_ * tokens;
  const Ticks prefill =
      attention_floor_ + prefill_attention(shape) + recurrent_token_ * shape.chunk_tokens;
  const Ticks sampled = head(shape.sampled_rows + shape.draft_tokens);
  const Ticks communication = overheads_.communication(tokens, shape.all_rank_tokens);
  Ticks decode = 0;
  price.slope = 0;
  if (shape.decode_rows > 0) {
    const ContextPrice context = decode_context(shape, &Reach::mixed_context);
    decode = mixed_floor_ + mixed_row_ * shape.decode_rows + context.base;
    price.slope = context.slope;
    price.valid_steps = context.valid_steps;
  }
  CostTerms& terms = price.base_terms;
  terms = CostTerms{};
  terms[CostTerm::linear_memory] = products.memory;
  terms[CostTerm::linear_compute] = products.compute;
  terms[CostTerm::elementwise] = elementwise;
  terms[CostTerm::attention_prefill] = prefill;
  terms[CostTerm::attention_decode] = decode;
  terms[CostTerm::head] = sampled;
  terms[CostTerm::communication] = communication;
  terms[CostTerm::step_overhead] = overheads_.step;
  price.slope_terms = {.attention_decode = price.slope};
  // Not terms.sum(), which would read in wide parts what has just been written in small ones.
  price.base = products.memory + products.compute + elementwise + prefill + decode + sampled +
               communication + overheads_.step;
}

}  // namespace headroom
