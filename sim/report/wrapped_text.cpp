#include "sim/report/wrapped_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace headroom {

std::string wrapped(std::string_view label, std::string_view text, std::size_t indent,
                    std::size_t width) {
  const std::string margin(indent, ' ');
  std::string out = fmt::format("{:<{}}", label, indent);
  // A label that fills its column still ends before the text.
  if (label.size() >= indent && indent > 0) out += '\n' + margin;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (column > indent && column + 1 + word.size() > width) {
      out += '\n' + margin;
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    for (; column + word.size() > width; word.remove_prefix(width - indent)) {
      out += fmt::format("{}\n{}", word.substr(0, width - indent), margin);
      column = indent;
    }
    out += word;
    column += word.size();
  }
  return out + "\n";
}

std::string clipped(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

}  // namespace headroom
