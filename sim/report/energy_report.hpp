#pragma once
// Energy in results: an object of summary.json, a line on the terminal.

#include <nlohmann/json.hpp>
#include <string>

#include "sim/resolve/energy.hpp"

namespace headroom {

// {"joules", "mean_w", "joules_per_output_token", ...}; null where no power is known. `tokens`:
// what was put out for it.
[[nodiscard]] nlohmann::ordered_json energy_json(const std::optional<EnergyUse>& use,
                                                 TokenCount tokens);
// With what it rests on.
[[nodiscard]] nlohmann::ordered_json run_energy_json(const RunResult& result);
// Empty where no power is known.
[[nodiscard]] std::string energy_text(const RunResult& result);

}  // namespace headroom
