#pragma once
// The energy of a run as a line on the terminal.

#include <string>

#include "sim/resolve/energy.hpp"

namespace headroom {

// Empty where no power is known.
[[nodiscard]] std::string energy_text(const RunResult& result);

}  // namespace headroom
