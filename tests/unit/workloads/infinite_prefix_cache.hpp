#pragma once
// How much of a trace's prompts an unlimited cache of whole prefixes would hold: each prompt is
// looked up piece by piece as far as it is known, then put in. For comparing what readers make of
// the published files with numbers from elsewhere.

#include <algorithm>
#include <cstdint>
#include <unordered_set>

#include "workloads/traces/trace.hpp"

namespace headroom {

class InfinitePrefixCache {
 public:
  // Pieces shorter than `least_tokens` end a prompt.
  explicit InfinitePrefixCache(const Trace& trace, std::int32_t least_tokens = 1) {
    for (std::size_t i = 0; i < trace.rows.size(); ++i) add(trace.prefix(i), least_tokens);
  }

  [[nodiscard]] std::int64_t pieces() const { return pieces_; }
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] std::int64_t hit_pieces() const { return hit_pieces_; }
  [[nodiscard]] std::int64_t hit_tokens() const { return hit_tokens_; }

 private:
  void add(std::span<const PrefixSegment> prefix, std::int32_t least_tokens) {
    std::uint64_t chain = 0;
    bool hits = true;
    for (const PrefixSegment& piece : prefix) {
      if (piece.tokens < least_tokens) return;
      chain = mixed_id(chain, piece.id);
      hits = !chains_.insert(chain).second && hits;
      ++pieces_;
      tokens_ += piece.tokens;
      hit_pieces_ += hits ? 1 : 0;
      hit_tokens_ += hits ? piece.tokens : 0;
    }
  }

  std::unordered_set<std::uint64_t> chains_;
  std::int64_t pieces_ = 0;
  std::int64_t tokens_ = 0;
  std::int64_t hit_pieces_ = 0;
  std::int64_t hit_tokens_ = 0;
};

}  // namespace headroom
