#pragma once
// Text from files, made safe to be shown on a terminal.

#include <string>
#include <string_view>

namespace headroom {

// Control characters and bytes that are no UTF-8 as \n, \t, \r, \x1b, \u009b; all else as it is.
[[nodiscard]] std::string visible_text(std::string_view text);

// The same with line breaks as they are: text of several lines that the program has composed.
[[nodiscard]] std::string visible_lines(std::string_view text);

}  // namespace headroom
