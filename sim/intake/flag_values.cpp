#include "sim/intake/flag_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/intake/values.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/scenario/options.hpp"

namespace headroom {
namespace {

// The row's other word for `text`, if it has one.
std::optional<std::string_view> other_word(const FlagRow& row, std::string_view text) {
  if (row.values.empty()) return std::nullopt;
  for (const std::string_view pair : split(row.values, '|')) {
    const std::size_t equals = pair.rfind('=');  // words may hold others
    if (pair.substr(0, equals) == text) return pair.substr(equals + 1);
  }
  return std::nullopt;
}

char lower_case_of(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

template <typename T>
FlagValue checked(const std::optional<T>& value, std::string_view allowed) {
  if (!value) return {.json = nullptr, .problem = std::string(allowed)};
  return {.json = *value, .problem = {}};
}

}  // namespace

FlagValue flag_value(const FlagRow& row, const std::string& text) {
  std::string word(trimmed(text));
  if (const std::optional<std::string_view> other = other_word(row, word)) {
    if (other->empty()) return {};
    if (*other == "true" || *other == "false") return {.json = *other == "true", .problem = {}};
    word = *other;
  }
  switch (row.takes) {
    case Takes::integer: {
      // Engines that read digits alone refuse 32k, or, as llama.cpp with std::stoi
      // (common/arg.cpp), read 32 of it.
      const bool has_unit = human_number(word).has_value();
      return checked(whole_number(word), has_unit
                                             ? "a whole number in digits, as 32768; the engine "
                                               "does not read units"
                                             : "a whole number");
    }
    case Takes::count: return checked(human_number(word), "a whole number, e.g. 32768, 32k or 1M");
    case Takes::number: return checked(decimal_number(word), "a number");
    case Takes::above_one: {
      const std::optional<std::int64_t> number = whole_number(word);
      return checked(number ? std::optional(*number > 1) : std::nullopt, "a whole number");
    }
    case Takes::nothing:
    case Takes::toggle: return checked(switch_value(word), "true or false");
    case Takes::text:
    case Takes::json:
    case Takes::words:
    case Takes::maybe_text:
    case Takes::maybe_switch:
      if (word.empty()) return {.json = nullptr, .problem = "a word"};
      return {.json = word, .problem = {}};
  }
  HEADROOM_CHECK(false, "a flag that takes nothing known");
  return {};
}

bool is_choice(std::string_view pointer, const Json& value) {
  const OptionRow* option = find_option(pointer);
  HEADROOM_CHECK(option != nullptr, "a flag of no option: " + std::string(pointer));
  if (option->choices.empty() || !value.is_string()) return true;
  const std::vector<std::string> choices = choices_of(*option);
  return std::ranges::count(choices, value.get<std::string>()) > 0;
}

std::string nearest_choice(std::string_view pointer, const Json& value) {
  const OptionRow* option = find_option(pointer);
  if (option == nullptr || !value.is_string()) return {};
  const auto& word = value.get_ref<const std::string&>();
  const std::string nearest = nearest_name(word, choices_of(*option));
  if (nearest.empty()) return {};
  return fmt::format(
      " ('{}' is not one of the known values; the nearest is {}, and the engine "
      "refuses to start with a value that it does not know either)",
      word, nearest);
}

Json in_known_case(std::string_view pointer, Json value) {
  const OptionRow* option = find_option(pointer);
  if (option == nullptr || option->choices.empty() || !value.is_string()) return value;
  const auto same = [&value](const std::string& choice) {
    return std::ranges::equal(choice, value.get_ref<const std::string&>(), {}, lower_case_of,
                              lower_case_of);
  };
  const std::vector<std::string> choices = choices_of(*option);
  const auto found = std::ranges::find_if(choices, same);
  return found == choices.end() ? value : Json(*found);
}

}  // namespace headroom
