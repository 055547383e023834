#pragma once
// The last line of an answer for people: the command to try next, and what it shows.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/intake/shell_words.hpp"

namespace headroom {

inline constexpr const char* kQuietHelp = "leave out the line that says what to try next";

// "next        headroom COMMAND: WHAT". Empty for an empty command.
[[nodiscard]] std::string next_line(const std::string& command, std::string_view what);

// A scenario with what flags change in it, as another command takes it; nothing: it came from
// standard input, which is read.
[[nodiscard]] std::optional<std::string> scenario_words(const std::string& scenario,
                                                        const std::vector<std::string>& set);

}  // namespace headroom
