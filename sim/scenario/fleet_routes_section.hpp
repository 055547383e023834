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
  // Tokens of its model that a token of the traffic is.
  double input_tokens_factor = 1;
  double output_tokens_factor = 1;
  double thinking_tokens_factor = 1;
  // The route that answers again when an answer of this one was not good enough.
  std::optional<std::string> escalates_to;
  std::optional<double> escalates_share;
  bool escalates_with_answer = false;
  double judge_ms = 0;
};

}  // namespace headroom
