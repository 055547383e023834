#pragma once
// A step of an engine whose pipeline stages or data ranks work on parts of it. No measured run
// stands behind these prices (docs/fidelity.md, Ranks and stages).

#include <cstdint>
#include <memory>

#include "hardware/cost/interconnect.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

// The largest of `parts` equal parts of a step, whose prompt tokens lie in `chunk_parts` of them.
// Affine in the step number like the whole.
[[nodiscard]] StepShape largest_part(const StepShape& shape, std::int64_t parts,
                                     std::int64_t chunk_parts);

struct PipelineOptions {
  std::int64_t stages = 2;
  std::int64_t layers = 0;            // of all stages
  std::int64_t most_layers = 0;       // of a stage before the last
  std::int64_t last_layers = 0;       // of the last stage, which has the output head too
  TokenCount micro_batch_tokens = 0;  // that an engine puts into one micro-batch, at most
  CommunicationTicks hand_over;       // from stage to stage, all of them
  Ticks host_step = 0;                // host time of a micro-batch
  Ticks host_row = 0;
};

// One step of the replica is a round: every stage computes each micro-batch once. The running
// sequences are dealt out to as many micro-batches as there are stages, prompt tokens to the
// fewest that hold them. A round takes as long as the largest micro-batch needs through all stages,
// or as the slowest stage needs for as many micro-batches, or the host: whatever is longest.
// Micro-batches of a round wait for each other, which a real pipeline does not make them.
class PipelineCost final : public StepCost {
 public:
  // `chain` prices a batch through all stages, one behind the other.
  PipelineCost(std::unique_ptr<StepCost> chain, const PipelineOptions& options);
  void price(const StepShape& shape, StepPrice& price) const override;

 private:
  std::unique_ptr<StepCost> chain_;
  PipelineOptions options_;
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
