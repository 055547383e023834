#include "sim/server/tokenizer.hpp"

#include <catch2/catch.hpp>

namespace headroom::tokenizer_test {
namespace {

std::vector<TokenId> ids_of(const Tokenizer& tokenizer, std::string_view text,
                            bool adds_special = false) {
  std::vector<TokenId> ids;
  tokenizer.encode(text, adds_special, ids);
  return ids;
}

// a, b, ab; words begin with a blank, which is a sign of its own in byte-level words.
TokenizerParts byte_level() {
  TokenizerParts parts;
  parts.is_byte_level = true;
  parts.vocabulary = {{"a", 0},
                      {"b", 1},
                      {"ab", 2},
                      {"\xc4\xa0", 3},
                      {"\xc4\xa0"
                       "ab",
                       4}};
  parts.merges.add(0, 1, 2);
  parts.merges.add(3, 2, 4);
  parts.cutter.pre_tokenizers = {Split{.pattern = TextPattern(R"( ?\p{L}+| )")}};
  return parts;
}

TEST_CASE("a blank belongs to the word behind it", "[server]") {
  const Tokenizer tokenizer(byte_level());
  CHECK(ids_of(tokenizer, "ab ab") == std::vector<TokenId>{2, 4});
  CHECK(ids_of(tokenizer, "aab  ab") == std::vector<TokenId>{0, 2, 3, 4});
  CHECK(ids_of(tokenizer, "").empty());
}

TEST_CASE("added tokens are found before text is cut", "[server]") {
  TokenizerParts parts = byte_level();
  parts.added = {{.text = "<|end|>", .id = 7}, {.text = "<|", .id = 8}, {.text = "b b", .id = 9}};
  parts.before = {6};
  const Tokenizer tokenizer(std::move(parts));
  CHECK(ids_of(tokenizer, "ab<|end|>ab<|") == std::vector<TokenId>{2, 7, 2, 8});
  CHECK(ids_of(tokenizer, "ab b", true) == std::vector<TokenId>{6, 0, 9});
  CHECK(tokenizer.size() == 10);
}

TEST_CASE("what is in no vocabulary becomes bytes or one unknown token", "[server]") {
  TokenizerParts parts;
  parts.vocabulary = {{"a", 0}, {"<unk>", 1}, {"<0xC3>", 2}, {"<0xA9>", 3}};
  parts.falls_back_to_bytes = true;
  parts.fuses_unknown = true;
  parts.unknown = 1;
  const Tokenizer tokenizer(std::move(parts));
  CHECK(ids_of(tokenizer, "a\xc3\xa9") == std::vector<TokenId>{0, 2, 3});
  CHECK(ids_of(tokenizer, "axxya") == std::vector<TokenId>{0, 1, 0});
}

TEST_CASE("text is brought into its normal form first", "[server]") {
  TokenizerParts parts;
  parts.vocabulary = {{"\xc3\xa9", 0}};
  parts.cutter.normalizers = {UnicodeForm::nfc};
  CHECK(ids_of(Tokenizer(std::move(parts)), "e\xcc\x81") == std::vector<TokenId>{0});
}

TEST_CASE("a split keeps, drops or joins what it finds", "[server]") {
  const auto words = [](const Split& split) {
    TextCutter cutter;
    cutter.pre_tokenizers = {split};
    return cutter.words("a b  c", true);
  };
  const TextPattern blank = TextPattern::literal(" ");
  CHECK(words({blank, SplitBehavior::isolated}) ==
        std::vector<std::string>{"a", " ", "b", " ", " ", "c"});
  CHECK(words({blank, SplitBehavior::removed}) == std::vector<std::string>{"a", "b", "c"});
  CHECK(words({blank, SplitBehavior::removed, true}) == std::vector<std::string>{" ", " ", " "});
  CHECK(words({blank, SplitBehavior::merged_with_previous}) ==
        std::vector<std::string>{"a ", "b ", " ", "c"});
}

}  // namespace
}  // namespace headroom::tokenizer_test
