#pragma once
// Energy in results.

#include <nlohmann/json.hpp>
#include <optional>

#include "sim/resolve/energy.hpp"

namespace headroom {

// {"joules", "mean_w", "joules_per_output_token", ...}; null where no power is known. `tokens`: the
// output of that energy.
[[nodiscard]] nlohmann::ordered_json energy_json(const std::optional<EnergyUse>& use,
                                                 TokenCount tokens);
// With the assumptions behind it.
[[nodiscard]] nlohmann::ordered_json run_energy_json(const RunResult& result);

}  // namespace headroom
