#pragma once
// `headroom compare A B`: two scenarios under the same traffic, and how certain their difference
// is.

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

struct CompareArguments {
  std::string a;  // a scenario; alone: a study with two points
  std::string b;
  std::vector<std::string> set;  // laid over both
  std::vector<std::string> set_a;
  std::vector<std::string> set_b;
  std::optional<std::int64_t> replications;
  std::optional<std::int64_t> threads;  // empty: all cores
  std::string output;                   // results of the first replication in OUTPUT/a, OUTPUT/b
  std::string catalog;
  bool json = false;
};

// What to print. ConfigError: a scenario or a file is wrong.
[[nodiscard]] std::string compare_command(const CompareArguments& arguments,
                                          const std::string& version,
                                          const std::atomic<bool>& interrupted);

}  // namespace headroom
