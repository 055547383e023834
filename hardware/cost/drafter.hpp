#pragma once
// Step time of an engine with a speculative drafter (ENGINES.md 5): the target's step, followed by
// the drafter's forward passes, one after another for each draft.

#include <cstdint>
#include <memory>

#include "sim/serving/step_cost.hpp"

namespace headroom {

struct DrafterOptions {
  std::int32_t forwards = 0;  // per step: the drafts of a sequence; 0 = no pass on the device
  // One pass takes this share, in millionths, of the target's layers for the same tokens; in [0,
  // 1].
  std::int64_t share_ppm = 0;
  // The drafter uses the target's output head (eagle, mtp); else its head scales with the share.
  bool uses_target_head = false;
  // Sequences draft behind the step that sampled for them, also for a prompt. False: only those
  // that decode do, ahead of their step, and whatever the step computes passes through the drafter.
  bool drafts_behind_prompts = true;
  std::int32_t branches = 1;  // of a tree of drafts: rows of a sequence in each further pass
  Ticks host_ticks = 0;       // per step, e.g. the search of an n-gram drafter; >= 0
};

// One pass runs over all tokens of the step, the others over one token of each sequence that
// drafts, or over one of each branch. The cost of a pass is added to the terms of the target's own
// work. Drafters run without launch or host overhead of their own: their graphs are replayed back
// to back.
class DrafterCost final : public StepCost {
 public:
  DrafterCost(std::unique_ptr<StepCost> target, const DrafterOptions& options);
  void price(const StepShape& shape, StepPrice& price) const override;

 private:
  void add_drafts_behind(const StepShape& shape, const CostTerms& step, CostTerms& drafter) const;
  void add_drafts_ahead(const StepShape& shape, const CostTerms& step, CostTerms& drafter) const;
  void add_pass(const CostTerms& target, std::int64_t times, CostTerms& sum) const;

  std::unique_ptr<StepCost> target_;
  DrafterOptions options_;
};

}  // namespace headroom
