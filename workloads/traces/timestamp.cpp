#include "workloads/traces/timestamp.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace headroom {
namespace {

constexpr std::int64_t kSecondsPerDay = 86'400;
constexpr std::array<std::int64_t, 10> kPowersOfTen = {
    1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000};

// Days from 1970-01-01 in the Gregorian calendar, which repeats every 400 years. The year is
// counted from March, so that the leap day is its last one (Hinnant, "chrono-compatible low-level
// date algorithms"). `year` >= 1.
constexpr std::int64_t days_from_civil(std::int32_t year, std::int32_t month, std::int32_t day) {
  const std::int32_t march_year = month <= 2 ? year - 1 : year;
  const std::int32_t era = march_year / 400;
  const std::int32_t year_of_era = march_year - era * 400;
  const std::int32_t march_month = month <= 2 ? month + 9 : month - 3;
  const std::int32_t day_of_year = (153 * march_month + 2) / 5 + day - 1;
  const std::int32_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return std::int64_t{era} * 146'097 + day_of_era - 719'468;
}
static_assert(days_from_civil(1970, 1, 1) == 0);
static_assert(days_from_civil(2000, 2, 29) == 11'016);

constexpr std::int32_t days_in_month(std::int32_t year, std::int32_t month) {
  if (month == 2) {
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return leap ? 29 : 28;
  }
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// Reads digits at fixed places; `bad` collects whatever is no digit.
struct Digits {
  const char* text;
  bool bad = false;

  std::int32_t one(std::size_t at) {
    const std::int32_t digit = text[at] - '0';
    bad |= static_cast<std::uint32_t>(digit) > 9;
    return digit;
  }
  std::int32_t two(std::size_t at) {
    const std::int32_t tens = one(at);
    return tens * 10 + one(at + 1);
  }
  void expect(std::size_t at, char wanted) { bad |= text[at] != wanted; }
};

// "+hh:mm", "-hh:mm" or "+hhmm": seconds ahead of UTC.
std::optional<std::int64_t> parse_offset(std::string_view text) {
  if (text.size() != 5 && text.size() != 6) return std::nullopt;
  if (text[0] != '+' && text[0] != '-') return std::nullopt;
  Digits digits{.text = text.data()};
  const std::int32_t hours = digits.two(1);
  if (text.size() == 6) digits.expect(3, ':');
  const std::int32_t minutes = digits.two(text.size() - 2);
  if (digits.bad || hours > 23 || minutes > 59) return std::nullopt;
  const std::int64_t seconds = std::int64_t{hours} * 3600 + minutes * 60;
  return text[0] == '-' ? -seconds : seconds;
}

// "YYYY-MM-DD hh:mm:" or with a T: ns since 1970 at its beginning.
std::optional<TimeNs> parse_minute(std::string_view text) {
  Digits digits{.text = text.data()};
  const std::int32_t century = digits.two(0);
  const std::int32_t year = century * 100 + digits.two(2);
  const std::int32_t month = digits.two(5);
  const std::int32_t day = digits.two(8);
  const std::int32_t hour = digits.two(11);
  const std::int32_t minute = digits.two(14);
  digits.expect(4, '-');
  digits.expect(7, '-');
  digits.expect(13, ':');
  digits.expect(16, ':');
  if (digits.bad || (text[10] != ' ' && text[10] != 'T')) return std::nullopt;
  if (year < 1970 || year > 2254 || month < 1 || month > 12) return std::nullopt;
  if (day < 1 || day > days_in_month(year, month)) return std::nullopt;
  if (hour > 23 || minute > 59) return std::nullopt;
  const std::int64_t days = days_from_civil(year, month, day);
  return (days * kSecondsPerDay + std::int64_t{hour} * 3600 + minute * 60) * kNsPerSecond;
}

// Digits from the first one behind the point up to anything else: ns; `at` moves behind them.
std::optional<TimeNs> parse_fraction(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  TimeNs fraction = 0;
  while (at < text.size() && static_cast<std::uint32_t>(text[at] - '0') <= 9) {
    if (at - begin == 9) return std::nullopt;
    fraction = fraction * 10 + (text[at] - '0');
    ++at;
  }
  if (at == begin) return std::nullopt;
  return fraction * kPowersOfTen[9 - (at - begin)];
}

}  // namespace

std::optional<TimeNs> parse_timestamp(std::string_view text) {
  return TimestampParser().parse(text);
}

std::optional<TimeNs> TimestampParser::parse(std::string_view text) {
  constexpr std::size_t kWholeSeconds = 19;  // of "YYYY-MM-DD hh:mm:ss"
  if (text.size() < kWholeSeconds) return std::nullopt;
  if (text.substr(0, minute_.size()) != std::string_view(minute_.data(), minute_.size())) {
    const std::optional<TimeNs> minute_ns = parse_minute(text);
    if (!minute_ns) return std::nullopt;
    std::copy_n(text.begin(), minute_.size(), minute_.begin());
    minute_ns_ = *minute_ns;
  }
  Digits digits{.text = text.data()};
  const std::int32_t second = digits.two(minute_.size());
  if (digits.bad || second > 59) return std::nullopt;
  TimeNs time_ns = minute_ns_ + second * kNsPerSecond;

  std::size_t at = kWholeSeconds;
  if (at < text.size() && text[at] == '.') {
    const std::optional<TimeNs> fraction_ns = parse_fraction(text, ++at);
    if (!fraction_ns) return std::nullopt;
    time_ns += *fraction_ns;
  }
  const std::string_view zone = text.substr(at);
  if (zone.empty() || zone == "Z" || zone == "+00:00") return time_ns;
  const std::optional<std::int64_t> offset_s = parse_offset(zone);
  if (!offset_s) return std::nullopt;
  return time_ns - *offset_s * kNsPerSecond;
}

}  // namespace headroom
