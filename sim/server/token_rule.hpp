#pragma once
// How the server counts tokens: by a tokenizer file, or by a fixed rule that needs none
// (docs/serve.md, "How text becomes tokens"); and filler text for answers, of which each word is
// one token.
//
// The rule cuts text into pieces of one kind, from left to right, and each piece into tokens:
//   letters and digits of ASCII, a blank before them included: 8 letters a token
//   other bytes than ASCII, likewise:                         4 bytes a token
//   blanks, tabs and ends of line:                            a run is one token
//   other signs:                                              3 a token
// English prose comes to about 1.3 tokens a word. A token's id is a hash of its bytes, so that
// equal texts have equal ids.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/server/token_id.hpp"
#include "sim/server/tokenizer.hpp"

namespace headroom {

using TokenId = std::int32_t;

// Ids are in 16 .. vocabulary - 1; below are those of the chat template.
inline constexpr TokenId kFirstTextId = 16;

class TokenRule {
 public:
  // `vocabulary`: of the model; a smaller one than 1,024 counts as that many. ConfigError: too few
  // words are one token of `tokenizer` (nullptr: none).
  explicit TokenRule(std::int64_t vocabulary, std::shared_ptr<const Tokenizer> tokenizer = nullptr);

  // `adds_special`: also what a tokenizer puts before and behind a whole text. PatternLimit.
  void append(std::string_view text, std::vector<TokenId>& ids, bool adds_special = false) const;
  [[nodiscard]] std::vector<TokenId> ids_of(std::string_view text,
                                            bool adds_special = false) const {
    std::vector<TokenId> ids;
    append(text, ids, adds_special);
    return ids;
  }

  // The word that is token number `position` of an answer with that seed, and the blank before it.
  // In a chat the first word has none.
  [[nodiscard]] std::string_view filler_piece(std::uint64_t seed, std::int64_t position,
                                              bool is_chat) const;
  // The ids of the first `tokens` of them.
  [[nodiscard]] std::vector<TokenId> filler_ids(std::uint64_t seed, std::int64_t tokens,
                                                bool is_chat) const;
  [[nodiscard]] std::int64_t vocabulary() const { return vocabulary_; }

 private:
  struct FillerWord {
    std::string_view text;  // with the blank before it
    TokenId id = 0;
    TokenId bare_id = 0;  // without
  };
  [[nodiscard]] TokenId id_of(std::string_view bytes) const;
  void cut_by_rule(std::string_view text, std::vector<TokenId>& ids) const;
  [[nodiscard]] const FillerWord& filler(std::uint64_t seed, std::int64_t position) const;

  std::int64_t vocabulary_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<FillerWord> filler_;
};

struct ChatMessage {
  std::string role;
  std::string text;
};
// A message is a token for its role, its text, and a token for its end; one at the front begins the
// chat. `asks`: the role of an answer follows.
[[nodiscard]] std::vector<TokenId> chat_ids(const TokenRule& rule,
                                            std::span<const ChatMessage> messages, bool asks);

}  // namespace headroom
