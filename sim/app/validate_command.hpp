#pragma once
// `headroom validate memory DIR`: the budget rules against logged start-ups; `headroom validate
// runs DIR`: measured runs replayed.

#include <string>

namespace headroom {

struct ValidateArguments {
  std::string what = "memory";
  std::string directory;
  std::string tables;   // of runs: a folder of kernel profiles to price from; empty: constants
  std::string catalog;  // folder laid over the embedded one; empty: none
  bool ablate = false;  // of runs: remove the terms of the step cost one by one
  bool json = false;
};

// What to print. ConfigError, DataError: the folder or a file in it is wrong.
[[nodiscard]] std::string validate_command(const ValidateArguments& arguments);

}  // namespace headroom
