#include "sim/engines/log_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool digit_at(std::string_view text, std::size_t at) {
  return at < text.size() && is_digit(text[at]);
}

// Length of "[1;36m" at the begin of `text`, else 0.
std::size_t colour_code(std::string_view text) {
  if (text.size() < 3 || text[0] != '[' || !is_digit(text[1])) return 0;
  std::size_t at = 1;
  while (at < text.size() && (is_digit(text[at]) || text[at] == ';')) ++at;
  return at < text.size() && text[at] == 'm' ? at + 1 : 0;
}

// Reads a number at `at` and moves past it.
bool read_number(std::string_view text, std::size_t& at, double& value) {
  std::array<char, 40> digits{};
  std::size_t size = 0;
  std::size_t from = at;
  const auto take = [&](char c) {
    if (size < digits.size()) digits[size++] = c;
  };
  if (from < text.size() && text[from] == '-') take(text[from++]);
  if (!digit_at(text, from)) return false;
  while (digit_at(text, from) ||
         (from < text.size() && text[from] == ',' && digit_at(text, from + 1))) {
    if (text[from] != ',') take(text[from]);
    ++from;
  }
  if (from < text.size() && text[from] == '.' && digit_at(text, from + 1)) {
    take(text[from++]);
    while (digit_at(text, from)) take(text[from++]);
  }
  const auto parsed = std::from_chars(digits.data(), digits.data() + size, value);
  if (parsed.ec != std::errc{}) return false;
  at = from;
  return true;
}

struct Numbers {
  std::array<double, kMaxPatternNumbers> value{};
  std::size_t count = 0;
};

// Whether `pattern` stands at `at`.
bool matches_at(std::string_view text, std::size_t at, std::string_view pattern, Numbers& numbers) {
  for (std::size_t p = 0; p < pattern.size(); ++p) {
    if (pattern[p] == ' ') {
      while (at < text.size() && is_blank(text[at])) ++at;
    } else if (pattern[p] == '#') {
      HEADROOM_CHECK(numbers.count < kMaxPatternNumbers, "a log pattern with too many numbers");
      if (!read_number(text, at, numbers.value[numbers.count])) return false;
      ++numbers.count;
    } else if (pattern[p] == '*') {
      const std::string_view rest = pattern.substr(p + 1);
      for (std::size_t from = at; from <= text.size(); ++from) {
        Numbers tried = numbers;
        if (!matches_at(text, from, rest, tried)) continue;
        numbers = tried;
        return true;
      }
      return false;
    } else {
      if (at >= text.size() || text[at] != pattern[p]) return false;
      ++at;
    }
  }
  return true;
}

// The text between quotes, or up to a comma or bracket.
std::string_view python_token(std::string_view text) {
  while (!text.empty() && text[0] == ' ') text.remove_prefix(1);
  if (!text.empty() && (text[0] == '\'' || text[0] == '"')) {
    const std::size_t end = text.find(text[0], 1);
    return end == std::string_view::npos ? std::string_view{} : text.substr(1, end - 1);
  }
  return text.substr(0, text.find_first_of(",)}] "));
}

}  // namespace

std::string without_colours(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  for (std::size_t at = 0; at < raw.size();) {
    std::size_t skip = 0;
    if (raw[at] == '\x1b') skip = 1;
    if (raw.substr(at).starts_with("#033[")) skip = 4;
    const std::size_t code = colour_code(raw.substr(at + skip));
    if (code > 0 || raw[at] == '\x1b') {
      at += skip + code;
    } else {
      text += raw[at++];
    }
  }
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

std::string rank_of(std::string_view text) {
  constexpr std::string_view kRank = "[RANK ";
  if (const std::size_t at = text.find(kRank); at != std::string_view::npos) {
    return std::string(text.substr(at + 1, text.find(']', at) - at - 1));
  }
  for (const std::string_view tag : {"(Worker", "(VllmWorker", "(RayWorker", "(EngineCore_DP"}) {
    const std::size_t at = text.find(tag);
    if (at == std::string_view::npos) continue;
    const std::size_t end = text.find(')', at);
    if (end == std::string_view::npos) continue;
    const std::string_view whole = text.substr(at + 1, end - at - 1);
    const std::string_view name = whole.substr(0, whole.find(" pid="));
    const bool numbered = name.find_first_of("0123456789") != std::string_view::npos;
    return std::string(numbered ? name : whole);
  }
  return {};
}

bool find_pattern(std::string_view text, std::string_view pattern, std::span<double> numbers) {
  const std::size_t literal = pattern.find_first_of(" #*");
  HEADROOM_CHECK(literal > 0, "a log pattern begins with text");
  const std::string_view first = pattern.substr(0, literal);
  for (std::size_t at = text.find(first); at != std::string_view::npos;
       at = text.find(first, at + 1)) {
    Numbers found;
    if (!matches_at(text, at, pattern, found)) continue;
    for (std::size_t i = 0; i < found.count && i < numbers.size(); ++i) numbers[i] = found.value[i];
    return true;
  }
  return false;
}

std::optional<std::string> python_value(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (at > 0 && is_word(text[at - 1])) continue;
    std::string_view rest = text.substr(at + key.size());
    if (rest.starts_with("':")) {
      rest.remove_prefix(2);
    } else if (rest.starts_with('=')) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    std::string_view value = python_token(rest);
    if (value.starts_with("torch.")) value.remove_prefix(6);
    if (value.empty() || value == "None") return std::nullopt;
    return std::string(value);
  }
  return std::nullopt;
}

std::int64_t to_count(double number) {
  constexpr double kLimit = 4611686018427387904.0;  // 2^62
  return static_cast<std::int64_t>(std::clamp(number, -kLimit, kLimit));
}

std::string from_message(std::string_view text, std::string_view message) {
  const std::size_t at = text.find(message);
  return std::string(at == std::string_view::npos ? text : text.substr(at));
}

}  // namespace headroom
