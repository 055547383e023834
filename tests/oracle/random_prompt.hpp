#pragma once
// Random requests for tests that hold an allocator against a naive one.

#include <cstdint>
#include <random>
#include <vector>

#include "sim/serving/request.hpp"
#include "tests/oracle/block_pool.hpp"

namespace headroom::oracle {

// Gives `request` a prompt of up to `most_pieces` pieces of two texts, so that many prompts begin
// alike, and mostly something of its own behind them; with pieces, every other answer is known by
// name, and two requests may even give the same one. Returns the tokens that have names, from the
// first on: the pieces, and the answer where it follows them at once.
inline std::vector<Token> random_prompt(std::mt19937& random, int most_pieces, Request& request,
                                        std::vector<PrefixSegment>& pieces) {
  constexpr std::int64_t kLongestAnswer = 500;
  const auto up_to = [&](unsigned most) { return 1 + static_cast<std::int64_t>(random() % most); };
  std::vector<Token> beginning;
  const std::uint64_t count =
      most_pieces == 0 ? 0 : random() % static_cast<unsigned>(most_pieces + 1);
  for (std::uint64_t i = 0; i < count; ++i) {
    const PrefixSegment piece{1 + random() % 2, static_cast<std::int32_t>(up_to(24))};
    pieces.push_back(piece);
    for (std::int64_t at = 0; at < piece.tokens; ++at) beginning.push_back({false, piece.id, at});
  }
  const bool more = count == 0 || random() % 2 == 0;
  const auto shared = static_cast<std::int64_t>(beginning.size());
  request.prompt_tokens = static_cast<std::int32_t>(shared + (more ? up_to(20) : 0));
  request.known_tokens = request.prompt_tokens;
  request.prefix = pieces;
  if (most_pieces > 0 && random() % 2 == 0) request.output_segment = 100 + random() % 3;
  const bool answer_told = !more && request.output_segment != 0;
  for (std::int64_t at = 0; answer_told && at < kLongestAnswer; ++at) {
    beginning.push_back({false, request.output_segment, at});
  }
  return beginning;
}

}  // namespace headroom::oracle
