#pragma once
// What `headroom observe` prints.

#include <string>

#include "sim/observe/observation.hpp"

namespace headroom {

// `folder`: where the files lie.
[[nodiscard]] std::string observation_text(const Observation& observation,
                                           const std::string& folder);

}  // namespace headroom
