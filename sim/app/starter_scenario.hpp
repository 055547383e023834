#pragma once
// The scenario that `headroom init` writes: what was asked for, and a comment at everything that a
// user is likely to change next.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/app/traffic_flags.hpp"
#include "sim/options/json.hpp"
#include "sim/resolve/run.hpp"

namespace headroom {

// What a new scenario is made from; a text may be empty where it was not given.
struct StarterFlags {
  std::string name;
  std::string model;
  std::string device;  // 2x4090: two of them
  std::optional<std::int64_t> device_count;
  std::string engine;  // name or name@version
  TrafficFlags traffic;
  std::vector<std::string> targets;  // ttft=2s,tpot=50ms
};

// ConfigError about the flag: rate and users at once, no such target, a wrong number.
[[nodiscard]] Json starter_scenario(const StarterFlags& flags);

// The same as YAML. `system`: of check(); its engine says which options are offered in comments.
[[nodiscard]] std::string starter_yaml(const Json& scenario, const Resolved& system,
                                       const std::string& file);

}  // namespace headroom
