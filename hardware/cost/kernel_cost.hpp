#pragma once
// Step time composed from measured kernels: their sum over the layers (layer_kernels.hpp), and what
// lies between them (between_kernels.hpp). A step inside captured graphs takes that sum. Outside of
// them it takes at least as long as the host needs to launch its kernels. An engine that plans a
// step only when the one before has ended adds the host's time to both.
//
// Every time becomes whole ticks at points of a grid at construction, and is linear between them:
// in tokens, in sequences, and in context. So a run of steps may be cut anywhere.
//
// Known limits. Decoding sequences count as long as their mean, chunks of a step as equal ones with
// the same query-key pairs. Kernels of a layer do not overlap.

#include <cstdint>
#include <vector>

#include "hardware/between_kernels.hpp"
#include "hardware/cost/capture_sizes.hpp"
#include "hardware/cost/layer_kernels.hpp"
#include "hardware/cost/prefill_grid.hpp"
#include "hardware/cost/roofline.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

// Of a synchronous engine, between two steps.
struct HostTime {
  Ticks step = 0;
  Ticks row = 0;  // more per sequence
};

class KernelCost final : public StepCost {
 public:
  // StepCostError: the largest legal step would exceed kMaxStepTicks.
  KernelCost(LayerKernels kernels, const BetweenKernels& between, CapturedSteps captured,
             HostTime host, std::int64_t hidden, const CostLimits& limits);

  void price(const StepShape& shape, StepPrice& price) const override;

 private:
  // Ticks over a count, linear between points; beyond the last the last line goes on.
  class Curve {
   public:
    void add(std::int64_t at, Ticks ticks);
    [[nodiscard]] Ticks at(std::int64_t count) const;

   private:
    std::vector<std::int64_t> at_;
    std::vector<Ticks> ticks_;
  };
  // Attention of decoding sequences while their mean context stays between two points.
  struct DecodeLine {
    Ticks ticks = 0;
    Ticks slope = 0;  // of one more token of context of every sequence
    StepCount valid_steps = kManySteps;
  };

  // What a step takes by its tokens.
  struct TokenTerms {
    Ticks products = 0;
    Ticks experts = 0;
    Ticks reduces = 0;
    Ticks streams = 0;
  };

  void fill_tokens(const CostLimits& limits);
  [[nodiscard]] TokenTerms on_curves(std::int64_t tokens) const;
  [[nodiscard]] TokenTerms by_tokens(std::int64_t tokens) const;
  void fill_decodes(const CostLimits& limits);
  [[nodiscard]] DecodeLine decode_line(std::int64_t rows, TokenCount context) const;
  [[nodiscard]] Ticks decode_point(std::size_t row, std::int64_t rows, std::size_t context) const;
  void price_prefill(const StepShape& shape, StepPrice& price) const;
  void price_decode(const StepShape& shape, StepPrice& price) const;
  [[nodiscard]] std::int64_t captured_tokens(const StepShape& shape) const;

  LayerKernels kernels_;
  CapturedSteps captured_;
  HostTime host_;
  Ticks layers_ = 0;       // small kernels of all layers
  Ticks elementwise_ = 0;  // of a token in a step that holds prompts
  Ticks reduce_waits_ = 0;
  Ticks sequence_ = 0;
  Ticks launches_ = 0;             // of a step outside graphs
  Ticks recurrence_launches_ = 0;  // more of them in one with prompts
  Ticks rule_launches_ = 0;        // of a step with prompts inside graphs
  Curve products_;
  Curve experts_;
  Curve reduces_;
  Curve streams_;
  std::vector<TokenTerms> by_tokens_;  // the curves, for steps of usual size
  Curve head_;
  PrefillGrid prefill_;
  std::vector<std::int64_t> rows_;      // of decode_ticks_
  std::vector<std::int64_t> contexts_;  // of decode_ticks_
  std::vector<Ticks> decode_ticks_;     // contexts of one row count stand together
};

}  // namespace headroom
