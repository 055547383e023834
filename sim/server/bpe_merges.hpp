#pragma once
// Byte-pair encoding: joins the parts of a word, always the pair of the lowest rank first and of
// equal ones the leftmost, as huggingface/tokenizers does (tokenizers/src/models/bpe/word.rs).

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/server/token_id.hpp"

namespace headroom {

class BpeMerges {
 public:
  // Of rank size(): `left` and `right` become `joined`. A pair that was there keeps the later rank.
  void add(TokenId left, TokenId right, TokenId joined) {
    pairs_[key(left, right)] = {rank_++, joined};
  }
  // `parts`: the word's smallest parts, from left to right. O(n log n).
  void join(std::span<const TokenId> parts, std::vector<TokenId>& ids) const;

 private:
  struct Pair {
    std::int32_t rank = 0;
    TokenId joined = 0;
  };
  static std::uint64_t key(TokenId left, TokenId right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
           static_cast<std::uint32_t>(right);
  }
  [[nodiscard]] const Pair* find(TokenId left, TokenId right) const {
    const auto found = pairs_.find(key(left, right));
    return found == pairs_.end() ? nullptr : &found->second;
  }

  std::unordered_map<std::uint64_t, Pair> pairs_;
  std::int32_t rank_ = 0;
};

}  // namespace headroom
