#pragma once
// How much KV a sequence takes on one rank, and how many block ids a length needs. Filled from the
// hardware model; the start-up budget and the run share this one struct.
//
// Layers that keep the same thing form a group with a block table of its own, and all groups draw
// ids from one pool (ENGINES.md 2.4). A model whose layers are all alike has one group.

#include <cstdint>
#include <vector>

#include "sim/serving/types.hpp"

namespace headroom {

[[nodiscard]] constexpr BlockCount blocks_needed(TokenCount tokens, std::int32_t block_tokens) {
  return (tokens + block_tokens - 1) / block_tokens;
}

enum class KvGroupKind : std::uint8_t {
  full,       // keeps every token
  sliding,    // keeps the last `window_tokens`
  chunked,    // keeps the chunk of `window_tokens` that the sequence is in
  recurrent,  // `states` ids per sequence, whatever its length
};

struct KvGroup {
  KvGroupKind kind = KvGroupKind::full;
  std::int32_t layers = 0;  // with keys or states of their own; padding not counted
  std::int32_t block_tokens = 16;
  TokenCount window_tokens = 0;
  std::int32_t states = 1;  // recurrent: ids that a sequence holds

  friend bool operator==(const KvGroup&, const KvGroup&) = default;
};

struct KvLayout {
  std::int32_t block_tokens = 16;          // of the first group: what a scheduler counts in
  ByteCount block_bytes = 0;               // one id, in whichever group
  ByteCount bytes_per_token = 0;           // all attention layers, below every window
  ByteCount state_bytes_per_sequence = 0;  // of all recurrent layers
  std::vector<KvGroup> groups;

  [[nodiscard]] bool uniform() const { return groups.size() == 1; }
  // All layers keep every token.
  [[nodiscard]] bool keeps_all() const {
    return uniform() && !recurrent() && groups.front().kind == KvGroupKind::full;
  }
  [[nodiscard]] bool recurrent() const { return state_bytes_per_sequence > 0; }
  // Most ids that one sequence holds while it grows to `tokens`, when a step computes up to
  // `step_tokens` of it (the admission cap of ENGINES.md 2.4).
  [[nodiscard]] BlockCount sequence_blocks(TokenCount tokens, TokenCount step_tokens) const;
  // Ids that a sequence of `tokens` holds in decode.
  [[nodiscard]] BlockCount decode_blocks(TokenCount tokens) const;
};

// One full group of `layers` equal layers: `bytes_per_token` of all of them together.
[[nodiscard]] KvLayout uniform_layout(std::int32_t layers, ByteCount bytes_per_token,
                                      std::int32_t block_tokens);

}  // namespace headroom
