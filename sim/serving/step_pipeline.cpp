#include "sim/serving/step_pipeline.hpp"

#include <algorithm>
#include <cmath>

#include "sim/kernel/check.hpp"

namespace headroom {

namespace {

// The least n with n * first + n * (n - 1) / 2 * slope >= ticks, 1 <= n <= most, where there is
// one: a guess in floating point, which is off by a step where it is off at all, and `Int` to
// decide. A few steps are mostly all about as long: then the guess does without a square root, and
// where they are not, finding the way from it takes no more than these few steps.
template <typename Int>
StepCount least_steps(Int first, Int slope, StepCount most, Int ticks) {
  const auto duration = [&](Int n) -> Int { return n * first + n * (n - 1) / 2 * slope; };
  constexpr StepCount kAlike = 64;
  const auto reach = static_cast<double>(ticks);
  double guess = reach / static_cast<double>(first);
  if (most > kAlike) {
    // n * (a + n * s / 2) with a = first - s / 2
    const double half_slope = static_cast<double>(slope) / 2;
    const double a = static_cast<double>(first) - half_slope;
    const double root = std::sqrt(std::max(0.0, a * a + 4 * half_slope * reach));
    guess = 2 * reach / (a + root);
  }
  StepCount n = std::clamp(static_cast<StepCount>(guess), StepCount{1}, most);
  while (duration(n) < ticks) ++n;
  while (duration(n - 1) >= ticks) --n;
  return n;
}

}  // namespace

StepCount Segment::steps_to_reach(TickSum ticks) const {
  if (next_ticks() >= ticks) return 1;
  const StepCount most = left();
  const TickSum longest = duration(most);
  if (longest < ticks) return most + 1;
  // What is added up then is less than the longest of these durations.
  constexpr StepCount kFewSteps = StepCount{1} << 20;
  const bool small = most <= kFewSteps && longest <= INT64_MAX / 2 && price.slope >= 0;
  return small ? least_steps<Ticks>(next_ticks(), price.slope, most, static_cast<Ticks>(ticks))
               : least_steps<TickSum>(next_ticks(), price.slope, most, ticks);
}

StepPipeline::StepPipeline(std::int32_t depth)
    : slots_(static_cast<std::size_t>(depth) + 1), ring_(slots_) {
  HEADROOM_CHECK(depth >= 1, "a pipeline holds at least one step");
}

void StepPipeline::clear() {
  for (Segment& segment : ring_) segment.first_tokens.clear();
  count_ = 0;
}

}  // namespace headroom
