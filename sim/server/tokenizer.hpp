#pragma once
// Text as the tokens of a real tokenizer: byte-pair encoding as described by a tokenizer.json, the
// file that models on Hugging Face come with. Gives the ids that huggingface/tokenizers gives
// (tests/e2e/serve_tokenizer.sh compares them).

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/server/bpe_merges.hpp"
#include "sim/server/text_cutter.hpp"
#include "sim/server/token_id.hpp"

namespace headroom {

// A token that is found in text as it stands.
struct AddedToken {
  std::string text;
  TokenId id = 0;
  bool is_normalized = false;  // looked for in normalized text
  bool takes_left = false;     // the blanks before it
  bool takes_right = false;
  bool is_word = false;  // not within a word
};

// What the file says; read_tokenizer() makes it.
struct TokenizerParts {
  TextCutter cutter;
  bool is_byte_level = false;  // words are bytes, each written as a sign of its own
  std::unordered_map<std::string, TokenId> vocabulary;
  BpeMerges merges;
  bool ignores_merges = false;  // for words that are tokens
  bool falls_back_to_bytes = false;
  bool fuses_unknown = false;
  std::optional<TokenId> unknown;
  std::vector<AddedToken> added;
  std::vector<TokenId> before;  // all text, where special tokens are wanted
  std::vector<TokenId> after;
};

class Tokenizer {
 public:
  explicit Tokenizer(TokenizerParts parts);

  // `adds_special`: also the tokens that begin and end a text. `text` is valid UTF-8. PatternLimit.
  void encode(std::string_view text, bool adds_special, std::vector<TokenId>& ids) const;
  // One more than the largest id.
  [[nodiscard]] TokenId size() const { return size_; }

 private:
  struct Found {
    const AddedToken* token = nullptr;
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  void encode_part(std::string_view text, bool is_first, std::vector<TokenId>& ids) const;
  void encode_normalized(const std::string& text, bool is_first, std::vector<TokenId>& ids) const;
  void encode_word(const std::string& word, std::vector<TokenId>& ids) const;
  void add_sign(std::string_view sign, std::vector<TokenId>& parts, bool& was_unknown) const;
  [[nodiscard]] std::optional<Found> next_added(std::string_view text, std::size_t from,
                                                bool is_normalized) const;

  TokenizerParts parts_;
  std::array<std::string, 256> byte_signs_;           // of byte-level words
  std::array<std::optional<TokenId>, 256> byte_ids_;  // of falling back to bytes
  std::array<bool, 256> may_begin_{};                 // an added token
  TokenId size_ = 0;
};

// `file` is not a tokenizer.json: ConfigError. So is one whose parts are not known here, with those
// that are.
[[nodiscard]] Tokenizer read_tokenizer(const std::string& file);

}  // namespace headroom
