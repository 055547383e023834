#include "scheduler/kv/block_identity.hpp"

#include <algorithm>

namespace headroom {
namespace {

constexpr std::uint64_t kPrivateTag = 0x707269766174655F;  // "private_"
constexpr std::uint64_t kInsideTag = 0x696E736964655F5F;   // "inside__"
constexpr std::uint64_t kAcrossTag = 0x6163726F73735F5F;   // "across__"
constexpr std::uint64_t kAdapterTag = 0x616461707465725F;  // "adapter_"
constexpr TokenCount kEndless = TokenCount{1} << 60;

}  // namespace

std::uint64_t BlockRun::key() const {
  if (offset == kAcross) return piece;
  return mixed_id(mixed_id(kInsideTag, piece), static_cast<std::uint64_t>(offset));
}

StoredBlocks stored_run(ChainId chain, const BlockRun& run, TokenCount block_tokens) {
  const std::uint64_t text = mixed_id(chain, run.piece);
  if (run.offset == BlockRun::kAcross) return {text, 0, run.blocks};
  // After the same blocks, the last piece may continue, or another one with the same id may begin:
  // they differ in where blocks start in them.
  const auto start = static_cast<std::uint64_t>(run.offset % block_tokens);
  return {mixed_id(text, start), run.offset / block_tokens, run.blocks};
}

ChainId chain_behind(ChainId chain, const BlockRun& run, TokenCount block_tokens) {
  BlockRun last = run;
  if (run.offset != BlockRun::kAcross) last.offset += (run.blocks - 1) * block_tokens;
  return mixed_id(chain, last.key());
}

bool goes_on(const BlockRun& run, const BlockRun& next, TokenCount block_tokens) {
  return next.offset > 0 && run.offset != BlockRun::kAcross && run.piece == next.piece &&
         run.offset + run.blocks * block_tokens == next.offset;
}

void public_parts(const Request& request, TokenCount begin, TokenCount end,
                  std::vector<TextPart>& parts) {
  parts.clear();
  TokenCount piece_begin = 0;
  const auto add = [&](std::uint64_t piece, TokenCount piece_end) {
    const TokenCount from = std::max(begin, piece_begin);
    const TokenCount to = std::min(end, piece_end);
    if (from < to) parts.push_back({piece, from - piece_begin, to - from});
    piece_begin = piece_end;
  };
  for (const PrefixSegment& segment : request.prefix) {
    if (piece_begin >= end) return;
    add(segment.id, std::min<TokenCount>(piece_begin + segment.tokens, request.prompt_tokens));
  }
  if (piece_begin == request.prompt_tokens && request.output_segment != 0) {
    add(request.output_segment, kEndless);
  }
}

RequestBlocks::RequestBlocks(const Request& request, std::int32_t block_tokens, BlockCount first,
                             BlockCount end)
    : request_(request),
      block_tokens_(block_tokens),
      position_(first * block_tokens),
      end_(end * block_tokens) {
  enter_piece();
}

bool RequestBlocks::next(BlockRun& run) {
  if (position_ >= end_) return false;
  while (piece_end_ <= position_) next_piece();
  if (position_ + block_tokens_ > piece_end_) {
    run = block_across();
    position_ += block_tokens_;
    return true;
  }
  run.piece = id_;
  run.offset = position_ - piece_begin_;
  run.blocks = (std::min(piece_end_, end_) - position_) / block_tokens_;
  run.is_private = is_private_;
  position_ += run.blocks * block_tokens_;
  return true;
}

BlockRun RequestBlocks::block_across() {
  BlockRun run{.piece = kAcrossTag, .offset = BlockRun::kAcross, .blocks = 1, .is_private = false};
  const TokenCount block_end = position_ + block_tokens_;
  for (TokenCount begin = position_; begin < block_end;) {
    while (piece_end_ <= begin) next_piece();
    const TokenCount part_end = std::min(piece_end_, block_end);
    run.piece = mixed_id(run.piece, id_);
    run.piece = mixed_id(run.piece, static_cast<std::uint64_t>(begin - piece_begin_));
    run.piece = mixed_id(run.piece, static_cast<std::uint64_t>(part_end - begin));
    run.is_private = is_private_;  // nothing but private follows a private part
    begin = part_end;
  }
  return run;
}

// KV depends on the LoRA adapter that made it: the id is part of the key of every block (ENGINES.md
// 2.2, extra keys).
std::uint64_t RequestBlocks::identity_of(std::uint64_t piece) const {
  const auto adapter = static_cast<std::uint64_t>(request_.adapter);
  return adapter == 0 ? piece : mixed_id(mixed_id(kAdapterTag, adapter), piece);
}

void RequestBlocks::enter_piece() {
  piece_begin_ = piece_end_;
  if (piece_ < request_.prefix.size()) {
    const PrefixSegment& segment = request_.prefix[piece_];
    id_ = identity_of(segment.id);
    piece_end_ = std::min<TokenCount>(piece_begin_ + segment.tokens, request_.prompt_tokens);
    return;
  }
  piece_end_ = kEndless;
  is_private_ = piece_begin_ < request_.prompt_tokens || request_.output_segment == 0;
  id_ = is_private_ ? mixed_id(kPrivateTag, request_.index) : identity_of(request_.output_segment);
}

}  // namespace headroom
