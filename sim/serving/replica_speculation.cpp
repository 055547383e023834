// The part of Replica that is about speculative decoding (docs/semantics.md, "Speculative
// decoding"): steps come one by one, and a decoding row yields several tokens at the end of one.
//
// Sums elsewhere count one token per row and decode step. Here the difference is booked: a row that
// yields e tokens in a step has `generated` and its computed tokens moved up by e - 1, and its last
// decode step moved earlier by as many; a row that sits a step out counts as one with e = 0.

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

// With drafts the scheduler takes blocks row by row.
std::int32_t Replica::decode_block_tokens() const {
  return speculates() ? 0 : pool().decode_block_tokens();
}

// The step being planned: its rows, and what they ask of the device.
void Replica::apply_verified(Segment& segment) {
  HEADROOM_CHECK(
      static_cast<std::int64_t>(plan_.verified.size()) == sums_.decodes().size(),
      fmt::format("{} rows in the plan, {} decode", plan_.verified.size(), sums_.decodes().size()));
  drafted_.rows.clear();
  StepShape& shape = segment.shape;
  shape.decode_rows = shape.decode_context = 0;
  for (const VerifiedRow& row : plan_.verified) {
    const Request& request = requests_[row.id];
    HEADROOM_CHECK(request.state == RequestState::decoding && row.tokens >= 0 &&
                       row.tokens <= 1 + parts_.options.acceptance.drafts(),
                   fmt::format("{} tokens of request {}", row.tokens, request.index));
    if (row.tokens == 0) {
      sit_out(row.id);
      continue;
    }
    drafted_.rows.push_back(row);
    ++shape.decode_rows;
    shape.draft_tokens += row.tokens - 1;
    shape.decode_context += computed_by(request, time_.planned_decodes()) + row.tokens;
  }
  shape.sampled_rows = segment.gaps_per_step = shape.decode_rows;
}

void Replica::sit_out(RequestId id) {
  Request& request = requests_[id];
  RequestStory& story = stories_[id];
  const TokenCount held = computed_by(request, time_.planned_decodes());
  sums_.correct_decoding(held + 1, held);
  ++request.anchor_decode;
  // `generated` falls behind when the step ends.
  drafted_.rows.push_back({id, 0});
  if (story.last_token < 0) story.last_token = latest_tokens();
}

// What comes out of the step that ends at `end`. Returns the rows that yielded nothing in the step
// before; their gaps are told one by one.
std::int64_t Replica::draw_accepted(TickSum end) {
  drafted_.outcomes.clear();
  drafted_.extra_tokens = 0;
  std::int64_t late = 0;
  for (VerifiedRow& row : drafted_.rows) {
    if (row.tokens == 0) continue;
    RequestStory& story = stories_[row.id];
    const std::int32_t drafts = row.tokens - 1;
    const std::int32_t accepted = parts_.options.acceptance.accepted(
        requests_[row.id].index, generated_so_far(row.id), drafts);
    if (drafts > 0) drafted_.outcomes.push_back({drafts, accepted});
    const StepCount left = story.last_decode - time_.completed_decodes();
    row.tokens = static_cast<std::int32_t>(std::min<StepCount>(1 + accepted, left));
    drafted_.extra_tokens += row.tokens - 1;
    if (story.last_token < 0) continue;
    gaps_.add(end - story.last_token);
    story.last_token = -1;
    ++late;
  }
  return late;
}

void Replica::yield_accepted() {
  for (const VerifiedRow& row : drafted_.rows) {
    Request& request = requests_[row.id];
    RequestStory& story = stories_[row.id];
    const std::int32_t extra = row.tokens - 1;
    story.generated += extra;
    story.last_decode -= extra;
    if (extra > 0) {
      const TokenCount held = computed_by(request, time_.applied_decodes());
      sums_.correct_decoding(held, held + extra);
      request.computed_tokens += extra;
    }
    if (story.last_decode > time_.completed_decodes()) continue;
    HEADROOM_CHECK(story.last_decode == time_.completed_decodes(),
                   "more tokens than an answer has");
    time_.stops().push({.decode = time_.completed_decodes(),
                        .admission = request.admission,
                        .id = row.id,
                        .action = StopAction::finish});
  }
  drafted_.clear();
}

// `blocks`: what the computed tokens of all residents fill. Rows that speculate hold slots for
// drafts and for the drafter's lookahead as well, of as many tokens at most, and keep them.
void Replica::check_blocks(BlockCount blocks) const {
  const BlockCount held = pool().used_blocks() + pool().shared_blocks;
  const BlockCount ahead =
      (2 * parts_.options.acceptance.drafts() + pool().block_tokens - 1) / pool().block_tokens;
  HEADROOM_CHECK(blocks <= held && held <= blocks + sums_.residents() * ahead,
                 fmt::format("{} blocks in use, requests fill {}", held, blocks));
}

}  // namespace headroom
