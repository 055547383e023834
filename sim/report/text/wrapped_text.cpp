#include "sim/report/text/wrapped_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/visible_text.hpp"

namespace headroom {

namespace {

// Bytes of the whole characters at the beginning of `text`, at most `most` of them, but not none.
std::size_t whole_characters(std::string_view text, std::size_t most) {
  std::size_t bytes = most;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return bytes > 0 ? bytes : most;
}

}  // namespace

std::string wrapped(std::string_view label, std::string_view given, std::size_t indent,
                    std::size_t width) {
  const std::string shown = visible_text(given);
  std::string_view text = shown;
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
    while (column + word.size() > width) {
      const std::size_t bytes = whole_characters(word, width - indent);
      out += fmt::format("{}\n{}", word.substr(0, bytes), margin);
      word.remove_prefix(bytes);
      column = indent;
    }
    out += word;
    column += word.size();
  }
  return out + "\n";
}

std::string clipped(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, whole_characters(text, most - 3)) + "...";
}

}  // namespace headroom
