#pragma once
// How much of the prompts of a trace an endless prefix cache would hold already: what PrefixReplay
// finds without a capacity, from whole pieces instead of blocks, so that memory grows with the
// distinct pieces of the trace only (a piece of 512 tokens is one entry, not 32 blocks).

#include <cstdint>
#include <span>
#include <unordered_map>

#include "sim/serving/prefix.hpp"

namespace headroom {

class PrefixShare {
 public:
  // Tokens of a block; full blocks alone are shared, as in engines that hash full blocks.
  static constexpr std::int64_t kBlockTokens = 16;

  // The next prompt. Returns its tokens that are in full blocks equal to those of some prompt
  // before, all from the first token on.
  std::int64_t add(std::span<const PrefixSegment> prefix);

 private:
  // By the chain of pieces before it and its own id: the longest piece so far.
  std::unordered_map<std::uint64_t, std::int32_t> longest_;
};

}  // namespace headroom
