#pragma once
// The remaining work for the searches of a study when its runs are stored.

#include <cstdint>
#include <string>

namespace headroom {

struct SearchCounts {
  std::int64_t wanted = 0;   // searches times points
  std::int64_t missing = 0;  // of these
  std::int64_t failed = 0;
};

// Adds the fronts to a file of results that has all its runs. ConfigError as for any such file.
SearchCounts finish_searches(const std::string& path);

}  // namespace headroom
