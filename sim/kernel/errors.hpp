#pragma once
// The two errors a user can cause. Everything else is `InternalError` (sim/kernel/check.hpp) or,
// where a refusal is expected (no memory, queue full), a return value.

#include <stdexcept>

namespace headroom {

// A scenario, catalog file or flag is wrong. The text names file and JSON pointer (or the flag),
// the value, what is allowed, and the nearest known name where one is close.
struct ConfigError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A row of a data file is wrong. The text names file:line and what had been read so far.
struct DataError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace headroom
