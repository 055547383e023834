#pragma once

#include <string>

#include "sim/resolve/resolve.hpp"

namespace headroom {

// Who set the value at `pointer`, as results say; "absent" where results do not show it.
inline std::string source_of(const Resolved& r, const std::string& pointer) {
  for (const ResolvedValue& value : resolved_values(r)) {
    if (value.pointer == pointer) return value.source;
  }
  return "absent";
}

}  // namespace headroom
