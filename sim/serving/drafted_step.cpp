#include "sim/serving/drafted_step.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {

void DraftedStep::plan(std::span<const VerifiedRow> rows, TickSum latest_tokens, Segment& segment,
                       ReplicaCore& core) {
  const std::int64_t decoding = core.sums.decodes().size();
  HEADROOM_CHECK(static_cast<std::int64_t>(rows.size()) == decoding,
                 fmt::format("{} rows in the plan, {} decode", rows.size(), decoding));
  rows_.clear();
  StepShape& shape = segment.shape;
  shape.decode_rows = shape.decode_context = 0;
  for (const VerifiedRow& row : rows) {
    const Request& request = core.requests[row.id];
    HEADROOM_CHECK(
        request.state == RequestState::decoding && row.tokens >= 0 && row.tokens <= most_tokens_,
        fmt::format("{} tokens of request {}", row.tokens, request.index));
    if (row.tokens == 0) {
      sit_out(row.id, latest_tokens, core);
      continue;
    }
    rows_.push_back(row);
    ++shape.decode_rows;
    shape.draft_tokens += row.tokens - 1;
    shape.decode_context += computed_by(request, core.time.planned_decodes()) + row.tokens;
  }
  shape.sampled_rows = segment.gaps_per_step = shape.decode_rows;
}

void DraftedStep::sit_out(RequestId id, TickSum latest_tokens, ReplicaCore& core) {
  Request& request = core.requests[id];
  RequestStory& story = core.stories[id];
  const TokenCount held = computed_by(request, core.time.planned_decodes());
  core.sums.correct_decoding(request, held + 1, held);
  ++request.anchor_decode;
  // `generated` falls behind when the step ends.
  rows_.push_back({id, 0});
  if (story.last_token < 0) story.last_token = latest_tokens;
}

std::int64_t DraftedStep::draw(TickSum end, ReplicaCore& core) {
  outcomes_.clear();
  extra_tokens_ = 0;
  std::int64_t late = 0;
  for (VerifiedRow& row : rows_) {
    if (row.tokens == 0) continue;
    RequestStory& story = core.stories[row.id];
    const std::int32_t tried = std::min(row.tokens - 1, drafts());
    const std::int32_t accepted =
        acceptance_.accepted(core.requests[row.id].index, core.generated(row.id), tried);
    if (tried > 0) outcomes_.push_back({tried, accepted});
    const StepCount left = story.last_decode - core.time.completed_decodes();
    row.tokens = static_cast<std::int32_t>(std::min<StepCount>(1 + accepted, left));
    extra_tokens_ += row.tokens - 1;
    if (story.last_token < 0) continue;
    core.gaps.add(end - story.last_token);
    story.last_token = -1;
    ++late;
  }
  return late;
}

void DraftedStep::yield(ReplicaCore& core) {
  const StepIndex ended = core.time.completed_decodes();
  for (const VerifiedRow& row : rows_) {
    Request& request = core.requests[row.id];
    RequestStory& story = core.stories[row.id];
    const std::int32_t extra = row.tokens - 1;
    story.generated += extra;
    story.last_decode -= extra;
    // A window may be full from here on, so that a row keeps less of its next tokens.
    if (extra > 0 || !core.kv.sequence().uniform()) {
      const TokenCount held = core.held(row.id);
      core.sums.correct_decoding(request, held, held + std::max(extra, 0));
      request.computed_tokens += std::max(extra, 0);
    }
    if (story.last_decode > ended) continue;
    HEADROOM_CHECK(story.last_decode == ended, "more tokens than an answer has");
    core.time.stops().push({.decode = ended,
                            .admission = request.admission,
                            .id = row.id,
                            .action = StopAction::finish});
  }
  rows_.clear();
  outcomes_.clear();
  extra_tokens_ = 0;
}

}  // namespace headroom
