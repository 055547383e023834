#pragma once
// From the text behind a flag to the value of a scenario's option.

#include <string>

#include "sim/setup/from/flag_table.hpp"
#include "sim/setup/json_document.hpp"

namespace headroom {

struct FlagValue {
  Json json;            // null: the engine chooses
  std::string problem;  // what would have been allowed; empty when all is well
};

[[nodiscard]] FlagValue flag_value(const FlagRow& row, const std::string& text);

}  // namespace headroom
