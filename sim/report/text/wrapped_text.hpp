#pragma once
// Words in lines of a width.

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

// `label` padded to `indent`, then `text` broken at words, each further line indented; ends with a
// newline. A word longer than a line is broken. Control characters of `text` are escaped.
[[nodiscard]] std::string wrapped(std::string_view label, std::string_view text, std::size_t indent,
                                  std::size_t width);

// At most `most` bytes (3 or more), the last three "..." where something was cut off.
[[nodiscard]] std::string clipped(const std::string& text, std::size_t most);

}  // namespace headroom
