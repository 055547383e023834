#pragma once

#include <algorithm>
#include <string>

namespace headroom {

// Letters of ASCII alone, in any locale.
[[nodiscard]] inline std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

}  // namespace headroom
