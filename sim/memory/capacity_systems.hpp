#pragma once
// The systems that `headroom capacity` compares: every model on every device with every engine in
// every environment, from names on the command line or a scenario file as the base.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace headroom {

// Each list as given: texts may hold several names between commas. An empty list keeps what the
// scenario file says, else the default.
struct SystemSelection {
  std::vector<std::string> models;
  std::vector<std::string> devices;
  std::vector<std::string> engines;  // name, or name@version
  std::vector<std::string> environments;
  std::vector<std::string> set;  // path=value for all systems; stronger than the lists
  std::string scenario;          // file or built-in name; empty: none
};

// Models outermost, environments innermost. ConfigError naming the flag.
[[nodiscard]] std::vector<Scenario> select_systems(const SystemSelection& selection);

// "2048,8k" as tokens: k is x 1024, m is x 1024^2, in either case. ConfigError naming `flag` on
// anything else.
[[nodiscard]] std::vector<std::int64_t> parse_contexts(const std::vector<std::string>& texts,
                                                       std::string_view flag = "--context");

// The parts between commas, in order; empty parts are left out.
[[nodiscard]] std::vector<std::string> split_list(const std::vector<std::string>& texts);
// The same; one empty part for a flag that is not given. ConfigError naming `flag`: commas alone.
[[nodiscard]] std::vector<std::string> parts_or_none(const std::vector<std::string>& texts,
                                                     std::string_view flag);

}  // namespace headroom
