#include "scheduler/batching/rank_rules.hpp"

namespace headroom {

bool PromptAgreement::holds_back(StepIndex plans, const Ranks& ranks) {
  if (starts_over_) count_from_ = plans;
  starts_over_ = false;
  if (ranks.all_have_prompts && ranks.all_have_seats) {
    count_from_ = plans + 1;
    if (!ranks.all_have_decodes) return false;
    const bool waits = batched_ < rules_.batching_plans;
    batched_ = waits ? batched_ + 1 : 0;
    return waits;
  }
  const StepIndex counted = (plans - count_from_) % rules_.timeout_plans + 1;
  if (counted < rules_.timeout_plans && ranks.all_have_decodes) return true;
  count_from_ = plans + 1;
  starts_over_ = !ranks.all_have_decodes;
  return false;
}

}  // namespace headroom
