#include "sim/serving/step_pricing.hpp"

#include <fmt/format.h>

#include "sim/kernel/errors.hpp"

namespace headroom {

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
