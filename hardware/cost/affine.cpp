#include "hardware/cost/affine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/cost/capture_sizes.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {

AffineCost::AffineCost(AffineCoefficients coefficients) : c_(std::move(coefficients)) {
  const Ticks smallest =
      std::min({c_.per_step, c_.per_prefill_token, c_.per_decode_row, c_.per_context_token});
  if (smallest < 0) throw ConfigError("affine cost: coefficients must not be negative");
  const Ticks decode = c_.per_step + c_.per_decode_row + c_.per_context_token;
  if (decode <= 0 || c_.per_step + c_.per_prefill_token <= 0) {
    throw ConfigError("affine cost: the cost of a one-token step must be above 0");
  }
  if (!std::is_sorted(c_.capture_sizes.begin(), c_.capture_sizes.end())) {
    throw ConfigError("affine cost: capture sizes must ascend");
  }
}

void AffineCost::price(const StepShape& shape, StepPrice& price) const {
  const bool decode_only = shape.chunk_rows == 0;
  const std::int64_t rows =
      decode_only ? padded_rows(shape.decode_rows, c_.capture_sizes) : shape.decode_rows;
  // A draft is one more token to compute, like one of a prompt.
  const TokenCount tokens = shape.chunk_tokens + shape.draft_tokens;
  price = StepPrice{};
  price.base_terms[CostTerm::step_overhead] = c_.per_step;
  price.base_terms[CostTerm::linear_compute] = c_.per_prefill_token * tokens;
  price.base_terms[CostTerm::linear_memory] = c_.per_decode_row * rows;
  price.base_terms[CostTerm::attention_decode] = c_.per_context_token * shape.decode_context;
  price.slope_terms.attention_decode = c_.per_context_token * shape.decode_rows;
  price.base = price.base_terms.sum();
  price.slope = price.slope_terms.sum();
}

}  // namespace headroom
