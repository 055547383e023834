#pragma once
// What `headroom validate runs DIR --ablate` prints.

#include <string>

#include "sim/fidelity/ablation.hpp"

namespace headroom {

[[nodiscard]] std::string ablation_text(const Ablations& ablations);
[[nodiscard]] std::string ablation_json(const Ablations& ablations);

}  // namespace headroom
