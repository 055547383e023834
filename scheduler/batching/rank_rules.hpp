#pragma once
// How the data ranks of an engine share its requests, and when they compute prompts.

#include <cstdint>

#include "sim/kernel/time.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

struct RankRules {
  // A request goes where the fewest tokens of prompts are, among the ranks that do not hold more
  // requests than their share. Else: by what the ranks have published (rank_balancer.hpp).
  bool knows_all = false;
  // Prompts wait until every rank has one (PromptAgreement).
  bool prompts_together = false;
  std::int64_t timeout_plans = 1;   // until then; >= 1
  std::int64_t batching_plans = 0;  // that they wait for more of them, when every rank has one
};

// Which plans of ranks that compute prompts together hold them back (TensorRT-LLM 1.2:
// _torch/pyexecutor/py_executor.py, _balance_adp_requests). Plans are counted whether prompts wait
// or not: a prompt waits for the rest of the count that it comes in.
class PromptAgreement {
 public:
  explicit PromptAgreement(const RankRules& rules) : rules_(rules) {}

  struct Ranks {
    bool all_have_prompts = false;  // that could run in this plan
    bool all_have_decodes = false;
    bool all_have_seats = false;  // not taken by decodes
  };
  // Of the plan behind `plans` others. Those since the last one that was asked about were like it.
  [[nodiscard]] bool holds_back(StepIndex plans, const Ranks& ranks);

 private:
  RankRules rules_;
  StepIndex count_from_ = 0;  // plans before the first one that counts
  bool starts_over_ = false;  // with every plan
  std::int64_t batched_ = 0;
};

}  // namespace headroom
