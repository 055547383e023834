#pragma once
// Prompts and answers that were seen, as a tree over their tokens: says of a new prompt which
// pieces of it are equal to the beginning of an earlier prompt, or of an earlier prompt and its
// answer. The pieces are what a simulated prefix cache finds (sim/serving/prefix.hpp).
//
// Bounded: when it has seen `most_tokens` different tokens it begins anew, and prompts share
// nothing with those before.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/server/token_rule.hpp"
#include "sim/serving/prefix.hpp"

namespace headroom {

class PromptTree {
 public:
  // 64 MiB of tokens: many times what a KV pool holds.
  static constexpr std::size_t kMostTokens = std::size_t{1} << 24;
  explicit PromptTree(std::size_t most_tokens = kMostTokens) : most_tokens_(most_tokens) {
    forget();
  }

  // Where a prompt ends in the tree.
  struct Place {
    std::uint32_t piece = 0;
    std::uint32_t offset = 0;  // tokens of that piece
    std::uint64_t age = 0;     // of the tree
  };
  struct Found {
    std::vector<PrefixSegment> pieces;  // all of the prompt, from its first token
    Place end;
  };
  // Of a prompt of one token or more; O(tokens).
  [[nodiscard]] Found add(std::span<const TokenId> prompt);
  // The answer to a prompt, once. Returns its identity in later prompts; 0: it has none, for an
  // answer with this first token was there.
  std::uint64_t add_answer(const Place& prompt, std::span<const TokenId> answer);
  // Begins anew.
  void forget();

 private:
  struct Piece {
    std::uint64_t id = 0;
    std::vector<TokenId> tokens;
  };
  struct Branch {
    std::uint32_t piece = 0;
    std::uint32_t offset = 0;
    TokenId next = 0;
    friend bool operator==(const Branch&, const Branch&) = default;
  };
  struct BranchHash {
    std::size_t operator()(const Branch& branch) const {
      const std::uint64_t place = std::uint64_t{branch.piece} << 32 | branch.offset;
      return mixed_id(place, static_cast<std::uint64_t>(branch.next));
    }
  };

  void make_room(std::size_t tokens);
  std::uint32_t grow(const Branch& branch, std::span<const TokenId> tokens);

  std::size_t most_tokens_;
  std::size_t tokens_ = 0;
  std::uint64_t age_ = 0;
  std::uint64_t ids_ = 0;      // given so far, ever
  std::vector<Piece> pieces_;  // the first one is the empty beginning
  std::unordered_map<Branch, std::uint32_t, BranchHash> branches_;
};

}  // namespace headroom
