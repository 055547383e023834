#include "workloads/traces/table_cells.hpp"

#include <algorithm>
#include <cstddef>

#include "workloads/traces/decimal.hpp"
#include "workloads/traces/table_dates.hpp"
#include "workloads/traces/timestamp.hpp"

namespace headroom {
namespace {

bool is_number_digit(char c) { return c >= '0' && c <= '9'; }

bool are_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_number_digit);
}

// "0,036" and "-12,5": one comma between digits.
bool is_decimal_with_comma(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t comma = text.find(',');
  return comma != std::string_view::npos && are_digits(text.substr(0, comma)) &&
         are_digits(text.substr(comma + 1));
}

// "3,671" may have a comma between thousands.
bool may_be_thousands(std::string_view text) {
  constexpr std::size_t kGroup = 3;
  const std::size_t comma = text.find(',');
  return !text.starts_with("0,") && comma <= kGroup && text.size() - comma - 1 == kGroup;
}

}  // namespace

bool has_decimal_commas(std::span<const std::vector<std::string>> rows) {
  return std::ranges::any_of(rows, [](const std::vector<std::string>& row) {
    return std::ranges::any_of(row, [](const std::string& cell) {
      return is_decimal_with_comma(cell) && !may_be_thousands(cell);
    });
  });
}

std::string_view with_decimal_point(std::string_view text, std::string& kept) {
  if (!is_decimal_with_comma(text)) return text;
  kept.assign(text);
  std::ranges::replace(kept, ',', '.');
  return kept;
}

std::string_view without_thousands(std::string_view text, std::string& kept) {
  constexpr std::size_t kGroup = 4;  // a comma and three digits
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t first = text.find(',');
  if (first == 0 || first > 3 || (text.size() - first) % kGroup != 0) return text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_comma = i >= first && (i - first) % kGroup == 0;
    if (is_comma ? text[i] != ',' : !is_digit(text[i])) return text;
  }
  kept.assign(text);
  std::erase(kept, ',');
  return kept;
}

bool holds_values(std::span<const std::string> cells) {
  const auto is_value = [](const std::string& cell) {
    std::string kept;
    return parse_scaled_decimal(with_decimal_point(cell, kept), 1).has_value() ||
           parse_timestamp(cell).has_value() || is_local_date(cell);
  };
  return std::ranges::count_if(cells, is_value) >= 2;
}

}  // namespace headroom
