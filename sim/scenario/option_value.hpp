#pragma once
// One option of a scenario by its JSON pointer, for code that tries values.

#include <string>
#include <string_view>

#include "sim/options/json.hpp"
#include "sim/scenario/scenario.hpp"

namespace headroom {

// The option at a JSON pointer of the option tables. Setting it notes `origin` as who gave it; the
// value must have the option's type and lie in its range, which the caller guarantees.
[[nodiscard]] Json option_value(const Scenario& scenario, std::string_view pointer);
void set_option(Scenario& scenario, const std::string& pointer, const Json& value,
                const std::string& origin);
// "engine.max_num_seqs" of "/engine/max_num_seqs", as --set takes it.
[[nodiscard]] std::string option_path(std::string_view pointer);

}  // namespace headroom
