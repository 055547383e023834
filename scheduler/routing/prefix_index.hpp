#pragma once
// Which replica was sent which prompts: a tree of prompt segments, each with the replicas that got
// a prompt through it. Of every replica so many tokens are remembered; the least recently sent go
// first, and always the ends of prompts before their beginnings.
//
// O(segments of the prompt) for each call, plus what is forgotten.

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/serving/prefix.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

// A prompt as the index keys it: a segment matches behind equal segments only (prefix.hpp).
struct PrefixStep {
  std::uint64_t key = 0;  // of the segment and everything before it
  std::int32_t tokens = 0;
  TokenCount before = 0;  // tokens of the segments before it
};

[[nodiscard]] std::vector<PrefixStep> prefix_steps(std::span<const PrefixSegment> prefix);

struct PrefixMatch {
  std::uint32_t replica = 0;
  TokenCount tokens = 0;  // of the prompt, from its first on
};

class PrefixIndex {
 public:
  // `tokens` of each of `replicas` are remembered.
  PrefixIndex(std::size_t replicas, TokenCount tokens);

  void insert(std::uint32_t replica, std::span<const PrefixStep> steps);
  // The replica lost its cache.
  void forget(std::uint32_t replica);

  // Replicas that have the beginning of a prompt: the longest match first, at equal length the
  // most recent; `most` at most, each once.
  [[nodiscard]] std::vector<PrefixMatch> find(std::span<const PrefixStep> steps,
                                              std::size_t most) const;
  [[nodiscard]] TokenCount overlap(std::uint32_t replica, std::span<const PrefixStep> steps) const;

  [[nodiscard]] TokenCount remembered(std::uint32_t replica) const {
    return replicas_[replica].tokens;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // One replica's piece of one segment, in two lists: of the segment and of the replica, the most
  // recent first.
  struct Piece {
    std::uint64_t key = 0;
    std::uint32_t replica = 0;
    std::int32_t tokens = 0;
    std::uint32_t newer_here = kNone;
    std::uint32_t older_here = kNone;
    std::uint32_t newer_of_replica = kNone;
    std::uint32_t older_of_replica = kNone;
  };
  struct OfReplica {
    std::uint32_t newest = kNone;
    std::uint32_t oldest = kNone;
    TokenCount tokens = 0;
  };

  [[nodiscard]] std::uint32_t piece_of(std::uint32_t replica, std::uint64_t key) const;
  [[nodiscard]] std::uint32_t new_piece(std::uint32_t replica, std::uint64_t key);
  void link(std::uint32_t number);
  void unlink(std::uint32_t number);
  void drop(std::uint32_t number);

  TokenCount limit_;
  std::vector<OfReplica> replicas_;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<std::uint64_t, std::uint32_t> newest_;  // by key of the segment
  std::unordered_map<std::uint64_t, std::uint32_t> places_;  // by key of replica and segment
};

}  // namespace headroom
