#pragma once
// The part of section `fleet` that is about several models behind one entry. As scenario.hpp: plain
// data, defaults here, unit and range in the option tables.

#include <optional>
#include <string>
#include <vector>

namespace headroom {

// Requests of some classes, or a share of all others, and the groups that serve them.
struct RouteSection {
  std::string name;
  std::vector<std::string> groups;
  std::optional<double> share;
  std::vector<std::string> classes;
  std::optional<std::string> policy;
};

}  // namespace headroom
