#pragma once
// JSON as YAML that people edit: keys in their order, a text in quotes where YAML would read
// something else, texts of several lines as blocks.

#include <string>
#include <vector>

#include "sim/options/json.hpp"

namespace headroom {

[[nodiscard]] std::string yaml_text(const Json& value);
// "# line" for each; nothing for none.
[[nodiscard]] std::string comment_text(const std::vector<std::string>& lines);

}  // namespace headroom
