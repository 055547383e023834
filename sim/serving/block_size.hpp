#pragma once
// Tokens in blocks of one size. Most sizes are powers of two, for which nothing is divided: that
// takes as long as a dozen other instructions, and several are needed for each request.

#include <bit>
#include <cstdint>

#include "sim/kernel/check.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class BlockSize {
 public:
  // `tokens` >= 1.
  explicit BlockSize(std::int32_t tokens) : tokens_(tokens) {
    HEADROOM_CHECK(tokens >= 1, "a block of no tokens");
    const auto size = static_cast<std::uint32_t>(tokens);
    if (std::has_single_bit(size)) bits_ = std::countr_zero(size);
  }

  [[nodiscard]] std::int32_t tokens() const { return tokens_; }
  // For `tokens` >= 0: the blocks they fill, the blocks they need, and the remaining tokens.
  [[nodiscard]] BlockCount full(TokenCount tokens) const {
    return bits_ >= 0 ? tokens >> bits_ : tokens / tokens_;
  }
  [[nodiscard]] BlockCount needed(TokenCount tokens) const { return full(tokens + tokens_ - 1); }
  [[nodiscard]] std::int32_t rest(TokenCount tokens) const {
    return static_cast<std::int32_t>(bits_ >= 0 ? tokens & (tokens_ - 1) : tokens % tokens_);
  }

 private:
  std::int32_t tokens_;
  std::int32_t bits_ = -1;  // tokens_ is so many times doubled 1; -1: it is no power of two
};

}  // namespace headroom
