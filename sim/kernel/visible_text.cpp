#include "sim/kernel/visible_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/locale/utf.hpp>

namespace headroom {
namespace {

namespace utf = boost::locale::utf;

constexpr utf::code_point kFirstPrintable = 0x20;
constexpr utf::code_point kDelete = 0x7F;
constexpr utf::code_point kEndOfC1 = 0xA0;

bool is_shown(utf::code_point c) { return (c >= kFirstPrintable && c < kDelete) || c >= kEndOfC1; }

std::string escaped(utf::code_point c) {
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  if (c == '\r') return "\\r";
  return c > kDelete ? fmt::format("\\u{:04x}", c) : fmt::format("\\x{:02x}", c);
}

}  // namespace

std::string visible_text(std::string_view text) {
  std::string shown;
  for (auto at = text.begin(); at != text.end();) {
    auto next = at;
    const utf::code_point c = utf::utf_traits<char>::decode(next, text.end());
    if (c == utf::illegal || c == utf::incomplete) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(*at));
      ++at;
      continue;
    }
    if (is_shown(c)) {
      shown.append(at, next);
    } else {
      shown += escaped(c);
    }
    at = next;
  }
  return shown;
}

std::string visible_lines(std::string_view text) {
  std::string shown;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    shown += visible_text(text.substr(begin, end - begin));
    if (end < text.size()) shown += '\n';
    begin = end + 1;
  }
  return shown;
}

}  // namespace headroom
