#pragma once
// What SGLang does about output it cannot know (ENGINES.md 3.4): the share of the remaining
// max_tokens that it sets aside for running requests, and whom it retracts when the pool runs out
// all the same.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/serving/types.hpp"

namespace headroom {

// Decode steps that every remaining request is taken to have room for after a retraction (SGLang,
// SGLANG_RETRACT_DECODE_STEPS).
inline constexpr TokenCount kRetractDecodeSteps = 20;

// new_token_ratio: min(1, 0.7 * conservativeness) at the start and whenever the engine is idle,
// less 1/600 of its way to 0.14 of that for every decode step, and no less than that. A function of
// the number of decode steps, so that it need not be told of each.
class NewTokenRatio {
 public:
  explicit NewTokenRatio(double schedule_conservativeness)
      : start_(std::min(1.0, 0.7 * schedule_conservativeness)), from_(start_) {}

  // The value that a plan sees before which `decodes` decode steps were planned.
  [[nodiscard]] double at(StepIndex decodes) const {
    if (decodes == since_) return from_;
    const auto steps = static_cast<double>(decodes - since_);
    return std::max(least_, from_ - decay_ * steps);
  }

  // From the plan after `decodes` decode steps on.
  void start_anew(StepIndex decodes) { set(start_, decodes); }
  void set(double value, StepIndex decodes) {
    from_ = value;
    since_ = decodes;
  }
  // Decode steps that do not count: beside a prefill chunk, or of others.
  void skip_steps(StepCount steps) { since_ += steps; }

 private:
  double start_;
  double least_ = 0.14 * start_;
  double decay_ = (start_ - least_) / 600.0;
  double from_;
  StepIndex since_ = 0;
};

// The ratio after a retraction: what the `requests` that remain have generated, with the steps they
// were given room for, as a share of what they may generate.
[[nodiscard]] double ratio_after_retraction(TokenCount decoded, std::int64_t requests,
                                            TokenCount max_tokens);

struct RetractionCandidate {
  RequestId id = kNoRequest;
  std::int32_t output_tokens = 0;  // generated so far
  std::int32_t prompt_tokens = 0;
  std::size_t place = 0;  // in the batch
};

// First victim first: the shortest output, then the longest prompt, then the last place.
void order_by_retraction(std::vector<RetractionCandidate>& running);

}  // namespace headroom
