#pragma once
// The exit codes of the programs, and what an exception that ends one of them means.

#include <string>

namespace headroom {

inline constexpr int kExitUser = 2;
inline constexpr int kExitIncomplete = 3;
inline constexpr int kExitDoesNotHold = 4;
inline constexpr int kExitInternal = 70;

struct Failure {
  int exit_code = kExitInternal;
  std::string text;
};

// Of the exception that is being handled: call it inside a catch block.
[[nodiscard]] Failure current_failure();

}  // namespace headroom
