#pragma once
// From the text behind a flag to the value of a scenario's option.

#include <string>
#include <string_view>

#include "sim/engines/flags.hpp"
#include "sim/scenario/json_document.hpp"

namespace headroom {

struct FlagValue {
  Json json;            // null: the engine chooses
  std::string problem;  // what would have been allowed; empty when all is well
};

[[nodiscard]] FlagValue flag_value(const FlagRow& row, const std::string& text);
// Whether `value` is one of the choices of the option at `pointer`, or that has none.
[[nodiscard]] bool is_choice(std::string_view pointer, const Json& value);

// " (...)": which choice a value that is none most likely means; empty: nothing is near.
[[nodiscard]] std::string nearest_choice(std::string_view pointer, const Json& value);

// The choice of the option that `value` is in other letters ("FP8"), else `value`.
[[nodiscard]] Json in_known_case(std::string_view pointer, Json value);

}  // namespace headroom
