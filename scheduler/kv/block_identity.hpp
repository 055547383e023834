#pragma once
// What the full blocks of a request hold, as runs: consecutive blocks inside one piece of its
// tokens, or one block that lies across pieces.
//
// The pieces are those of Request::prefix, then, if they make up the whole prompt and the answer
// has an id, the answer. Whatever follows is private: no other request has it.

#include <cstdint>
#include <vector>

#include "sim/serving/request.hpp"

namespace headroom {

inline constexpr BlockCount kAllBlocks = BlockCount{1} << 40;

struct BlockRun {
  static constexpr TokenCount kAcross = -1;

  std::uint64_t piece = 0;  // its id; across pieces a mix of the parts, which is the block's key
  TokenCount offset = 0;    // of the run's first token in the piece; kAcross for such a block
  BlockCount blocks = 0;
  bool is_private = false;

  // Key of the first block. Equal keys behind equal parents mean equal content.
  [[nodiscard]] std::uint64_t key() const;
};

// Blocks `first`, first + 1, ... of a text, as a memory without its own tree identifies them: the
// text represents the piece and all that precedes it, so equal (text, block) mean equal content
// after equal content. Text 0: unknown content.
struct StoredBlocks {
  std::uint64_t text = 0;
  std::int64_t first = 0;
  BlockCount blocks = 0;

  friend constexpr bool operator==(const StoredBlocks&, const StoredBlocks&) = default;
};

// What precedes a piece, from the first block of a sequence on; 0 before the first piece.
using ChainId = std::uint64_t;
// `run` behind `chain`, the chain of what precedes its piece.
[[nodiscard]] StoredBlocks stored_run(ChainId chain, const BlockRun& run, TokenCount block_tokens);
// The text before the block that follows `run`, if that block does not continue the same piece.
[[nodiscard]] ChainId chain_behind(ChainId chain, const BlockRun& run, TokenCount block_tokens);
// Whether `next` continues the piece of `run` where `run` ends.
[[nodiscard]] bool goes_on(const BlockRun& run, const BlockRun& next, TokenCount block_tokens);

// Tokens `offset`, `offset` + 1, ... of a piece.
struct TextPart {
  std::uint64_t piece = 0;
  TokenCount offset = 0;
  TokenCount tokens = 0;
};
// What tokens [begin, end) of `request` begin with, up to the first private one.
void public_parts(const Request& request, TokenCount begin, TokenCount end,
                  std::vector<TextPart>& parts);

// Walks over the runs of blocks [first, end) of `request`, which must outlive the walk.
class RequestBlocks {
 public:
  RequestBlocks(const Request& request, std::int32_t block_tokens, BlockCount first,
                BlockCount end);

  // False when there are no more.
  [[nodiscard]] bool next(BlockRun& run);
  // Of the block that next() gave last, if it lies across pieces.
  void public_parts_of_last(std::vector<TextPart>& parts) const {
    public_parts(request_, position_ - block_tokens_, position_, parts);
  }

 private:
  void enter_piece();
  [[nodiscard]] std::uint64_t identity_of(std::uint64_t piece) const;
  void next_piece() {
    ++piece_;
    enter_piece();
  }
  [[nodiscard]] BlockRun block_across();

  const Request& request_;
  TokenCount block_tokens_;
  TokenCount position_;  // token
  TokenCount end_;
  std::size_t piece_ = 0;  // number of the piece that starts at piece_begin_
  std::uint64_t id_ = 0;
  TokenCount piece_begin_ = 0;
  TokenCount piece_end_ = 0;
  bool is_private_ = false;
};

}  // namespace headroom
