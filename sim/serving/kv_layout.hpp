#pragma once
// How much KV a token takes on one rank, and how many blocks a length needs. The source of the
// sizes is the hardware model; the start-up budget and the run share this one struct.

#include <cstdint>

#include "sim/serving/types.hpp"

namespace headroom {

struct KvLayout {
  std::int32_t layers = 0;  // on this rank
  ByteCount bytes_per_token_layer =
      0;  // per rank; 2 * max(1, kv_heads / TP) * head_dim * bytes (ENGINES.md 2.3)
  std::int32_t block_tokens = 16;

  [[nodiscard]] ByteCount bytes_per_token() const { return layers * bytes_per_token_layer; }
  [[nodiscard]] ByteCount bytes_per_block() const { return bytes_per_token() * block_tokens; }
};

[[nodiscard]] constexpr BlockCount blocks_needed(TokenCount tokens, std::int32_t block_tokens) {
  return (tokens + block_tokens - 1) / block_tokens;
}

}  // namespace headroom
