#include "sim/server/token_rule.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <string>

namespace headroom::token_rule_test {
namespace {

const TokenRule kRule(128'256);

std::size_t count(std::string_view text) { return kRule.ids_of(text).size(); }

TEST_CASE("a text is cut into tokens by the kind of its signs", "[server]") {
  CHECK(count("") == 0);
  CHECK(count("time") == 1);
  CHECK(count("Once upon a time") == 4);  // blanks belong to the word behind
  CHECK(count("there was,") == 3);        // a sign is a piece of its own
  CHECK(count("abcdefgh") == 1);          // 8 letters a token
  CHECK(count("abcdefghi") == 2);
  CHECK(count("a  b") == 3);      // a, one of two blanks, " b"
  CHECK(count("a\n\n\nb") == 3);  // ends of line are one run
  CHECK(count("...") == 1);
  CHECK(count("....") == 2);              // 3 signs a token
  CHECK(count("\xc3\xa9\xc3\xa9") == 1);  // 4 bytes of other scripts a token
  CHECK(count(" ") == 1);
}

TEST_CASE("equal texts have equal ids, in the vocabulary", "[server]") {
  CHECK(kRule.ids_of("a word") == kRule.ids_of("a word"));
  CHECK(kRule.ids_of("word") != kRule.ids_of(" word"));
  const TokenRule small(10);
  for (const TokenId id : small.ids_of("some words of a small vocabulary")) {
    CHECK(id >= kFirstTextId);
    CHECK(id < 1024);
  }
}

TEST_CASE("each word of filler text is one token, also when it comes back", "[server]") {
  for (const bool is_chat : {false, true}) {
    std::string text;
    std::vector<TokenId> ids;
    for (std::int64_t i = 0; i < 500; ++i) {
      const std::string_view piece = kRule.filler_piece(7, i, is_chat);
      REQUIRE(count(piece) == 1);
      text += piece;
      kRule.append(piece, ids);
    }
    CHECK(kRule.ids_of(text) == ids);
    CHECK(kRule.filler_ids(7, 500, is_chat) == ids);
  }
  std::set<std::string_view> words;
  for (std::int64_t i = 0; i < 1000; ++i) words.insert(kRule.filler_piece(3, i, false));
  CHECK(words.size() > 100);
}

TEST_CASE("a chat that goes on begins with all that was said", "[server]") {
  const std::vector<ChatMessage> first = {{"user", "Hello there"}};
  std::vector<TokenId> known = chat_ids(kRule, first, true);
  kRule.append("time people", known);  // the answer
  const std::vector<ChatMessage> second = {
      {"user", "Hello there"}, {"assistant", "time people"}, {"user", "More"}};
  const std::vector<TokenId> ids = chat_ids(kRule, second, true);
  REQUIRE(ids.size() > known.size());
  CHECK(std::vector<TokenId>(ids.begin(),
                             ids.begin() + static_cast<std::ptrdiff_t>(known.size())) == known);
}

}  // namespace
}  // namespace headroom::token_rule_test
