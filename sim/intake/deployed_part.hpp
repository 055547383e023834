#pragma once
// A deployment is made of parts: replicas that start the same engine with the same flags. Here a
// part is what it says, and several are one scenario with a fleet.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/intake/from.hpp"

namespace headroom {

// Keys of annotations (and of labels, with a dot) in which `headroom emit` keeps what the objects
// themselves have no place for.
inline constexpr const char* kGroupKey = "headroom/group";
inline constexpr const char* kRoleKey = "headroom/role";
inline constexpr const char* kDeviceKey = "headroom/device";

struct DeployedPart {
  std::string group;   // its name in the fleet; empty: the fleet has no groups
  std::string role;    // prefill, decode; empty: both
  std::string device;  // empty: not said
  std::int64_t replicas = 1;
  std::optional<Json> scaling;  // an element of fleet.autoscaling, but for its group
  FromResult engine;
};

// Parts of the same group and the same engine are replicas of one. At least one part.
[[nodiscard]] FromResult scenario_of_parts(std::vector<DeployedPart> parts);

}  // namespace headroom
