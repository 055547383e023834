#include "sim/traces/trace_prefix.hpp"

#include <algorithm>

namespace headroom {

// A chain holds the lengths of its pieces, so behind a piece that was never of this length nothing
// is known, and the first place where a prompt differs from all others ends what it shares.
std::int64_t PrefixShare::add(std::span<const PrefixSegment> prefix) {
  std::int64_t shared = 0;
  std::uint64_t chain = 0;
  for (const PrefixSegment& piece : prefix) {
    const std::uint64_t within = mixed_id(chain, piece.id);
    std::int32_t& longest = longest_[within];
    shared += std::min(longest, piece.tokens);
    longest = std::max(longest, piece.tokens);
    chain = mixed_id(within, static_cast<std::uint64_t>(piece.tokens));
  }
  return shared / kBlockTokens * kBlockTokens;
}

}  // namespace headroom
