#pragma once
// What one step of a scenario's system costs and where the time goes: beside the data sheet's
// bound, beside what fitted constants of other devices would say, and beside a measured step.

#include <cstdint>
#include <optional>
#include <string>

#include "hardware/catalog.hpp"
#include "sim/resolve/plausible_costs.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/resolve/run.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

struct StepQuestion {
  std::int64_t decodes = 0;      // decoding sequences
  TokenCount context = 1;        // tokens of each, the new one included
  std::int64_t chunks = 0;       // sequences with prompt tokens in the step
  TokenCount chunk_tokens = 1;   // of each
  TokenCount cached_tokens = 0;  // of each, computed before
  std::optional<double> measured_ms = std::nullopt;
};

struct StepBreakdown {
  Resolved resolved;
  CostFacts cost;
  CostTerms data_sheet;      // efficiency 1, no overheads: the bound
  StepPrice price;           // the scenario's cost level
  PlausibleShare plausible;  // of the price, over constants fitted elsewhere
};

// ConfigError: the scenario is wrong, does not start, or the question has nothing in it or more
// than a step of this system can hold.
[[nodiscard]] StepBreakdown explain_step(const Scenario& scenario, const Catalog& catalog,
                                         const StepQuestion& question);

}  // namespace headroom
