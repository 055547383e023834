#include "sim/serving/step_pricing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

// `slowest` becomes the slower one of the two, valid until the other one has caught up. Of equal
// ones that grow alike the first stays.
void keep_slower(const StepPrice& other, StepPrice& slowest) {
  const bool is_slower =
      other.base != slowest.base ? other.base > slowest.base : other.slope > slowest.slope;
  const StepPrice& high = is_slower ? other : slowest;
  const StepPrice& low = is_slower ? slowest : other;
  StepCount steps = std::min(high.valid_steps, low.valid_steps);
  if (low.slope > high.slope) {
    const Ticks closer = low.slope - high.slope;
    steps = std::min(steps, (high.base - low.base + closer - 1) / closer);
  }
  if (is_slower) slowest = other;
  slowest.valid_steps = steps;
}

}  // namespace

void StepPricing::price_slowest(std::span<const StepShape> ranks, StepPrice& price) {
  bool found = false;
  for (const StepShape& rank : ranks) {
    if (rank.decode_rows + rank.chunk_rows == 0) continue;  // it computes a token for nobody
    StepPrice own;
    current_->price(rank, own);
    if (found) {
      keep_slower(own, price);
    } else {
      price = own;
    }
    found = true;
  }
  HEADROOM_CHECK(found, "a step of data ranks that are all idle");
  ++priced_plans_;
}

void StepPricing::add_copies(StepPrice& price, TickSum ticks) {
  if (price.base + ticks >= kMaxStepTicks) {
    throw ConfigError(
        fmt::format("a step waits {} s for copies, more than 73 minutes: raise "
                    "engine.kv_offloading_gb_per_s or environment.storage_gb_per_s",
                    floor_ns(ticks) / kNsPerSecond));
  }
  add_once(price, CostTerm::transfer, static_cast<Ticks>(ticks));
}

}  // namespace headroom
