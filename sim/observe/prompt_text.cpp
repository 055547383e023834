#include "sim/observe/prompt_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

// Most tokenizers hold each of these, with the blank before it, as one token.
constexpr std::array<std::string_view, 64> kWords{
    "time",    "year",    "people",   "way",    "day",    "man",     "thing",   "woman",
    "life",    "child",   "world",    "school", "state",  "family",  "student", "group",
    "country", "problem", "hand",     "part",   "place",  "case",    "week",    "company",
    "system",  "program", "question", "work",   "number", "night",   "point",   "home",
    "water",   "room",    "mother",   "area",   "money",  "story",   "fact",    "month",
    "lot",     "right",   "study",    "book",   "eye",    "job",     "word",    "business",
    "issue",   "side",    "kind",     "head",   "house",  "service", "friend",  "father",
    "power",   "hour",    "game",     "line",   "end",    "member",  "law",     "car"};

// The tokens of a prompt one after the other: place `i` of piece `id`.
std::uint64_t drawn(std::uint64_t id, std::int64_t place) {
  return mixed_id(id, static_cast<std::uint64_t>(place));
}

std::int64_t words_of(std::int64_t tokens, double tokens_per_word) {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(tokens) / tokens_per_word));
}

// Calls take(number) for each of the `count` words of the prompt; a token is a word where
// `tokens_per_word` is 1.
template <typename Take>
void each_word(const Arrival& arrival, std::uint64_t index, std::uint64_t salt, std::int64_t count,
               double tokens_per_word, Take take) {
  std::int64_t left = count;
  for (const PrefixSegment& piece : arrival.prefix) {
    const std::uint64_t id = mixed_id(salt, piece.id);
    const std::int64_t words = words_of(piece.tokens, tokens_per_word);
    for (std::int64_t i = 0; i < words && left > 0; ++i, --left) take(drawn(id, i));
  }
  const std::uint64_t own = mixed_id(mixed_id(salt, 1), index);
  for (std::int64_t i = 0; left > 0; ++i, --left) take(drawn(own, i));
}

}  // namespace

std::string prompt_json(const PromptRule& rule, const Arrival& arrival, std::uint64_t index,
                        std::uint64_t salt) {
  const std::int64_t own_tokens =
      std::max<std::int64_t>(1, arrival.prompt_tokens - rule.added_tokens);
  std::string text;
  if (rule.form == PromptForm::token_ids) {
    HEADROOM_CHECK(rule.ids.size() > 1, "no token ids to draw from");
    text = "[";
    each_word(arrival, index, salt, own_tokens, 1, [&](std::uint64_t number) {
      fmt::format_to(std::back_inserter(text), "{},", rule.ids[number % rule.ids.size()]);
    });
    text.back() = ']';
    return text;
  }
  text = "\"";
  each_word(arrival, index, salt, words_of(own_tokens, rule.tokens_per_word), rule.tokens_per_word,
            [&](std::uint64_t number) {
              text += kWords[number % kWords.size()];
              text += ' ';
            });
  text.back() = '"';
  return text;
}

std::string made_up_words(std::int64_t words, std::uint64_t seed) {
  std::string text;
  for (std::int64_t i = 0; i < words; ++i) {
    if (i > 0) text += ' ';
    text += kWords[drawn(seed, i) % kWords.size()];
  }
  return text;
}

}  // namespace headroom
