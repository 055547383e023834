#pragma once
// Parts of a scenario without the short forms that people write.

#include <string>

#include "sim/scenario/json_document.hpp"

namespace headroom {

// `section`, which stands at `pointer` of a scenario: what is written as one value ("arrivals": 20)
// becomes an object, and "2s" or "32k" a number. Wrong values stay, for the parser to refuse.
void spell_out(Json& section, const std::string& pointer);

}  // namespace headroom
