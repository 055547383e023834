#pragma once
// Optional features, which most replicas lack, as one bit mask. Where several of them may have to
// act, an event tests the mask once and calls their code only if one of their bits is set.

#include "sim/kernel/likely.hpp"

namespace headroom {

class ReplicaFeatures {
 public:
  enum Feature : unsigned {
    api_server = 1U << 0U,
    role = 1U << 1U,           // it computes prompts for others, or decodes those of others
    drafts = 1U << 2U,         // speculative decoding
    adapters = 1U << 3U,       // LoRA
    windows = 1U << 4U,        // layers keep unlike things
    whole_answers = 1U << 5U,  // clients have all tokens at once
    growth = 1U << 6U,         // it takes more memory with the hours
    logprobs = 1U << 7U,       // log-probabilities of a prompt need memory
    ranks = 1U << 8U,          // data ranks with a pool and a share of the batch each
    micro_batches = 1U << 9U,  // pipeline stages
    told_plans = 1U << 10U     // a sink wants every plan
  };

  // Only while the replica is constructed.
  void add(Feature feature, bool has) { bits_ |= has ? feature : 0U; }
  // Whether it has any of `features`, one or several joined by |.
  [[nodiscard]] bool any(unsigned features) const { return rarely((bits_ & features) != 0); }

 private:
  unsigned bits_ = 0;  // add() writes
};

}  // namespace headroom
