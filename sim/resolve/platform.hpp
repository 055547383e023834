#pragma once
// Whether the machine can run the engine at all, whatever its memory.

#include <optional>
#include <string>

#include "sim/resolve/resolve.hpp"

namespace headroom {

struct PlatformGap {
  std::string text;         // what is missing, as a sentence
  bool may_run_so = false;  // with a plug-in, say: what it does then is not modelled
};

[[nodiscard]] std::optional<PlatformGap> platform_gap(const Resolved& resolved);

}  // namespace headroom
