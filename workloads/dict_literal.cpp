#include "workloads/dict_literal.hpp"

#include <algorithm>

namespace headroom {
namespace {

void skip_blanks(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size()));
}

bool take(std::string_view& rest, char wanted) {
  skip_blanks(rest);
  if (!rest.starts_with(wanted)) return false;
  rest.remove_prefix(1);
  return true;
}

// Up to the next character that ends a number.
std::string_view take_number(std::string_view& rest) {
  skip_blanks(rest);
  const std::size_t size = std::min(rest.find_first_of(":,} \t\r\n"), rest.size());
  const std::string_view number = rest.substr(0, size);
  rest.remove_prefix(size);
  return number;
}

}  // namespace

std::optional<DictItems> parse_dict_literal(std::string_view text) {
  DictItems items;
  if (!take(text, '{')) return std::nullopt;
  while (!take(text, '}')) {
    if (!items.empty() && !take(text, ',')) return std::nullopt;
    if (!items.empty() && take(text, '}')) break;  // a comma behind the last item
    const std::string_view key = take_number(text);
    if (key.empty() || !take(text, ':')) return std::nullopt;
    const std::string_view value = take_number(text);
    if (value.empty()) return std::nullopt;
    items.emplace_back(key, value);
  }
  skip_blanks(text);
  if (!text.empty()) return std::nullopt;
  return items;
}

}  // namespace headroom
