#pragma once
// Steps of an engine with pipeline stages, and of data ranks that work on parts of one. No measured
// run stands behind these prices (docs/fidelity.md, Ranks and stages).

#include <cstdint>
#include <memory>
#include <vector>

#include "hardware/cost/interconnect.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

// The largest of `parts` equal parts of a step, whose prompt tokens lie in `chunk_parts` of them.
// Affine in the step number like the whole.
[[nodiscard]] StepShape largest_part(const StepShape& shape, std::int64_t parts,
                                     std::int64_t chunk_parts);

struct PipelineOptions {
  std::vector<std::int64_t> layers;  // of each stage
  CommunicationTicks hand_over;      // from stage to stage, all of them
  Ticks host_step = 0;               // host time of a micro-batch
  Ticks host_row = 0;
};

// A step is a micro-batch. Its price is that of its way through all stages, one behind the other,
// and split() tells how long each of them works on it (StageFlow makes a line of that).
class PipelineCost final : public StepCost {
 public:
  // `chain` prices a batch through all stages, without the hand-overs.
  PipelineCost(std::unique_ptr<StepCost> chain, PipelineOptions options);
  void price(const StepShape& shape, StepPrice& price) const override;
  [[nodiscard]] bool split(const StepShape& shape, const StepPrice& price,
                           StageTimes& times) const override;

 private:
  [[nodiscard]] Ticks hand_over(const StepShape& shape) const;

  std::unique_ptr<StepCost> chain_;
  PipelineOptions options_;
  std::int64_t all_layers_ = 0;
};

// Data ranks that step together because they share their experts. A shape that says the tokens of
// all ranks is that of one of them; any other is the whole engine's, whose sequences then lie on
// the ranks in equal numbers.
class DataParallelCost final : public StepCost {
 public:
  // `rank` prices the batch of one rank (StepShape::all_rank_tokens).
  DataParallelCost(std::unique_ptr<StepCost> rank, std::int64_t ranks);
  void price(const StepShape& shape, StepPrice& price) const override;

 private:
  std::unique_ptr<StepCost> rank_;
  std::int64_t ranks_;
};

}  // namespace headroom
