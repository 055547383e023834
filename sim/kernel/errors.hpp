#pragma once
// The two errors a user can cause, and what they have in common: the exit code 2. Everything else
// is `InternalError` (sim/kernel/check.hpp) or, where a refusal is expected (no memory, queue
// full), a return value.

#include <stdexcept>

namespace headroom {

// Catch this where it does not matter which of the two it is.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A scenario, catalog file or flag is wrong. The text names file and JSON pointer (or the flag),
// the value, what is allowed, and the nearest known name where one is close.
struct ConfigError : UserError {
  using UserError::UserError;
};

// A row of a data file is wrong. The text names file:line and what had been read so far.
struct DataError : UserError {
  using UserError::UserError;
};

}  // namespace headroom
