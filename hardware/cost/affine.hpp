#pragma once
// The simplest cost: constant per step, per prompt token, per decoding row and per context token.

#include <cstdint>
#include <vector>

#include "sim/serving/step_cost.hpp"

namespace headroom {

struct AffineCoefficients {
  Ticks per_step = 0;
  Ticks per_prefill_token = 0;
  Ticks per_decode_row = 0;
  Ticks per_context_token = 0;              // read by decoding rows
  std::vector<std::int32_t> capture_sizes;  // ascending; decode-only steps are padded. Empty: never
};

class AffineCost final : public StepCost {
 public:
  // All coefficients >= 0, and no step that does something may be free; ConfigError otherwise.
  explicit AffineCost(AffineCoefficients coefficients);
  void price(const StepShape& shape, StepPrice& price) const override;

 private:
  AffineCoefficients c_;
};

}  // namespace headroom
