#pragma once
// What `headroom audit` prints of a message that memory ran out.

#include <string>
#include <vector>

#include "sim/engines/memory_failure.hpp"

namespace headroom {

// `name`: of the log. `devices`: catalog devices that may be the one, the likeliest first; empty:
// not known.
[[nodiscard]] std::string memory_failure_text(const MemoryFailure& failure, const std::string& name,
                                              const std::vector<std::string>& devices);

}  // namespace headroom
