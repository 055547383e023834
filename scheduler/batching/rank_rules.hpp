#pragma once
// How the data ranks of an engine share its requests, and when they compute prompts.

#include <cstdint>

#include "sim/kernel/time.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

// Where a request goes that arrives.
enum class RankChoice : std::uint8_t {
  published,  // by what the ranks have published (rank_balancer.hpp)
  shares,     // where the fewest tokens of prompts are, of ranks below their share of requests
  in_turn,    // to one rank after the other
  fewest_requests,  // of equal ranks to the first; so below
  fewest_tokens     // of prompts
};

struct RankRules {
  RankChoice choice = RankChoice::published;
  // The decodes of a rank stand by while it computes prompts, and those of other ranks do not. They
  // are left out of the price of its steps; their tokens come all the same.
  bool prompts_alone = false;
  // The decodes of all ranks pause in a step in which any rank computes prompts.
  bool prompts_pause_all = false;
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
