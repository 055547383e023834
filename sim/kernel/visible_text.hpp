#pragma once
// Text from files, made safe to be shown on a terminal.

#include <string>
#include <string_view>

namespace headroom {

// Control characters and invalid UTF-8 become \n, \t, \r, \x1b, \u009b; the rest stays unchanged.
[[nodiscard]] std::string visible_text(std::string_view text);

// The same with line breaks as they are: text of several lines that the program has composed.
[[nodiscard]] std::string visible_lines(std::string_view text);

}  // namespace headroom
