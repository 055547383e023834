#pragma once
// The answer of `headroom audit compose.yaml` for services that share devices.

#include <string>
#include <vector>

#include "sim/memory/shared_device.hpp"

namespace headroom {

// `order`: what of the order of the starts is assumed; `assumed`: what else is, service by service.
[[nodiscard]] std::string shared_text(const SharedStarts& together,
                                      const std::vector<std::string>& order,
                                      const std::vector<std::string>& assumed);

}  // namespace headroom
