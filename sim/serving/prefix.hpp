#pragma once
// What a prompt is made of, where a workload knows it: the identities that let requests share KV.

#include <cstdint>

namespace headroom {

// A piece of a prompt. Two prompts that begin with the same pieces (same ids, in the same order)
// are equal over them; where two pieces have the same id and different lengths, over the shorter
// one, and not further. A piece matches only behind equal pieces: engines hash the whole chain.
struct PrefixSegment {
  std::uint64_t id = 0;
  std::int32_t tokens = 0;  // >= 1

  friend constexpr bool operator==(const PrefixSegment&, const PrefixSegment&) = default;
};

// An id made of two parts, e.g. a session and its turn, or a parent and a child of a chain
// (the finaliser of SplitMix64 over their sum; distinct inputs collide with chance 2^-64).
[[nodiscard]] constexpr std::uint64_t mixed_id(std::uint64_t first, std::uint64_t second) {
  std::uint64_t x = first * 0x9E3779B97F4A7C15 + second + 0x632BE59BD9B4E019;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace headroom
