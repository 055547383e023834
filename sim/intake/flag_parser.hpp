#pragma once
// Reads flags, environment variables and settings files of one engine into a draft, by its table.

#include <span>
#include <string>
#include <string_view>

#include "sim/intake/draft.hpp"

namespace headroom {

// Variables, then flags: what an engine started in `draft.variables` with `words` behind its name
// does. `draft.engine` says which. ConfigError: a flag without its value, a value that is none.
void read_flags(Draft& draft, std::span<const std::string> words);

// Arguments as a log prints them, by the names of their flags. `has_defaults`: all are printed, and
// what says nothing, or is not modelled, is in no list.
void read_arguments(Draft& draft, const Json& printed, bool has_defaults);

// "--host" or "-tp", but not "-1" and not "-".
[[nodiscard]] bool looks_like_flag(std::string_view word);

}  // namespace headroom
