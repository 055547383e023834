#include "workloads/traces/table_dates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace headroom {
namespace {

// Cuts 1 to `most` digits off the front.
std::optional<std::int32_t> cut_number(std::string_view& rest, std::size_t most) {
  std::size_t size = 0;
  std::int32_t value = 0;
  while (size < rest.size() && size < most && rest[size] >= '0' && rest[size] <= '9') {
    value = 10 * value + (rest[size++] - '0');
  }
  if (size == 0) return std::nullopt;
  rest.remove_prefix(size);
  return value;
}

bool cut_char(std::string_view& rest, char wanted) {
  if (!rest.starts_with(wanted)) return false;
  rest.remove_prefix(1);
  return true;
}

// Cuts "Nov" off the front.
std::optional<std::int32_t> cut_month(std::string_view& rest) {
  constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    if (!rest.starts_with(kMonths[i])) continue;
    rest.remove_prefix(kMonths[i].size());
    return static_cast<std::int32_t>(i + 1);
  }
  return std::nullopt;
}

struct LocalDate {
  std::int32_t first = 0;
  std::int32_t second = 0;
  std::int32_t year = 0;
  char separator = '/';
  bool month_is_named = false;  // the second one
  std::string_view time;        // "3:04:05 PM"
};

std::optional<LocalDate> local_date(std::string_view text) {
  LocalDate date;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  const auto first = cut_number(text, 2);
  if (!first || text.empty()) return std::nullopt;
  date.separator = text.front();
  if (date.separator != '/' && date.separator != '.' && date.separator != '-') return std::nullopt;
  cut_char(text, date.separator);
  const auto named = cut_month(text);
  const auto second = named ? named : cut_number(text, 2);
  if (!second || !cut_char(text, date.separator)) return std::nullopt;
  date.month_is_named = named.has_value();
  const std::size_t before = text.size();
  const auto year = cut_number(text, 4);
  if (!year || before - text.size() != 4) return std::nullopt;
  cut_char(text, date.month_is_named ? ':' : ',');
  while (cut_char(text, ' ') || cut_char(text, 'T')) {
  }
  date.first = *first;
  date.second = *second;
  date.year = *year;
  date.time = text;
  return date;
}

// "15:04:05" with what stands behind the seconds, of "3:04[:05] PM"; empty where it is no time.
std::string clock_of(std::string_view text) {
  std::int32_t half = -1;  // 0: before noon
  for (const std::string_view word : {"AM", "am", "PM", "pm"}) {
    if (!text.ends_with(word)) continue;
    half = word.front() == 'P' || word.front() == 'p' ? 1 : 0;
    text.remove_suffix(word.size());
    while (text.ends_with(' ')) text.remove_suffix(1);
    break;
  }
  if (text.empty() && half < 0) return "00:00:00";
  auto hour = cut_number(text, 2);
  if (!hour || !cut_char(text, ':')) return {};
  const auto minute = cut_number(text, 2);
  if (!minute) return {};
  const bool has_seconds = cut_char(text, ':');
  const auto second = has_seconds ? cut_number(text, 2) : std::optional<std::int32_t>(0);
  if (!second) return {};
  while (text.starts_with(" +") || text.starts_with(" -")) text.remove_prefix(1);  // an offset
  if (half >= 0) {
    if (*hour < 1 || *hour > 12) return {};
    hour = *hour % 12 + 12 * half;
  }
  return fmt::format("{:02}:{:02}:{:02}{}", *hour, *minute, *second, text);
}

}  // namespace

bool is_local_date(std::string_view text) { return local_date(text).has_value(); }

DateOrder order_of_dates(std::span<const std::vector<std::string>> rows, std::size_t column) {
  bool is_month_first = false;
  bool is_day_first = false;
  bool any = false;
  for (const std::vector<std::string>& row : rows) {
    const std::optional<LocalDate> date = local_date(row[column]);
    if (!date) continue;
    any = true;
    is_month_first = is_month_first || date->second > 12;
    is_day_first = is_day_first || date->first > 12 || date->separator == '.';
    is_day_first = is_day_first || date->month_is_named;
  }
  if (!any) return DateOrder::year_first;
  if (is_month_first == is_day_first) return DateOrder::unknown;
  return is_month_first ? DateOrder::month_first : DateOrder::day_first;
}

std::optional<std::string> date_with_year_first(std::string_view text, DateOrder order) {
  const std::optional<LocalDate> date = local_date(text);
  if (!date) return std::nullopt;
  const std::string clock = clock_of(date->time);
  if (clock.empty()) return std::nullopt;
  const bool is_month_first = order == DateOrder::month_first;
  return fmt::format("{:04}-{:02}-{:02} {}", date->year,
                     is_month_first ? date->first : date->second,
                     is_month_first ? date->second : date->first, clock);
}

}  // namespace headroom
