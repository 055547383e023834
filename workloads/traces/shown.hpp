#pragma once
// A piece of a file as messages show it: of bounded length, without control characters.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

inline constexpr std::size_t kShownBytes = 80;

// At most so many bytes, whole characters of UTF-8; control characters stand as '?'.
[[nodiscard]] inline std::string printable(std::string_view text) {
  std::size_t size = std::min(text.size(), kShownBytes);
  while (size > 0 && size < text.size() && (text[size] & '\xC0') == '\x80') --size;
  std::string shown(text.substr(0, size));
  std::ranges::replace_if(
      shown, [](char c) { return (c >= '\0' && c < ' ') || c == '\x7F'; }, '?');
  return shown;
}

// The same, with "..." behind a text that was cut.
[[nodiscard]] inline std::string shown(std::string_view text) {
  return printable(text) + (text.size() > kShownBytes ? "..." : "");
}

}  // namespace headroom
