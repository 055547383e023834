#pragma once
// Engines that share devices, as JSON text.

#include <string>
#include <vector>

#include "sim/memory/shared_device.hpp"

namespace headroom {

// `notes`: what is assumed.
[[nodiscard]] std::string shared_json(const SharedStarts& together,
                                      const std::vector<std::string>& notes);

}  // namespace headroom
