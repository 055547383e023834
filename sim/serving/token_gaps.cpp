#include "sim/serving/token_gaps.hpp"

#include <fmt/format.h>

#include "sim/kernel/check.hpp"

namespace headroom {

void TokenGaps::note_last_tokens(std::span<RequestStory> stories, RequestPool& requests,
                                 StepIndex completed, TickSum latest) {
  std::erase_if(interrupted_, [&](RequestId id) {
    if (stories[id].counted_to > completed) return false;  // another micro-batch has it
    HEADROOM_CHECK(stories[id].counted_to == completed, "a token in flight outlived its step");
    stories[id].last_token = latest;
    requests[id].token_in_flight = false;
    return true;
  });
}

void TokenGaps::note_end(std::int32_t micro_batch, TickSum latest) {
  const auto number = static_cast<std::size_t>(micro_batch);
  if (number >= ends_.size()) ends_.resize(number + 1);
  ends_[number] = latest;
}

void TokenGaps::pause(StepIndex step, std::int64_t rows, std::int64_t begun, TickSum before,
                      TickSum after) {
  if (paused_.empty()) paused_.push_back({0, before, rows});
  paused_.push_back({step, after, begun});
}

void TokenGaps::add_over_pause(TickSum end, std::int64_t rows) {
  std::int64_t paused = 0;
  for (const PausedRows& group : paused_) {
    paused += group.rows;
    if (group.rows > 0) groups_.push_back({end - group.instant, group.rows});
  }
  HEADROOM_CHECK(paused == rows, fmt::format("{} rows paused, {} go on", paused, rows));
}

void TokenGaps::leave_pause(StepIndex sample_step) {
  for (std::size_t i = 1; i < paused_.size(); ++i) {
    if (paused_[i].sample_step != sample_step) continue;
    --paused_[i].rows;
    return;
  }
  --paused_.front().rows;
}

TickSum TokenGaps::latest_token(StepIndex sample_step, TickSum latest) const {
  if (paused_.empty()) return latest;
  for (std::size_t i = 1; i < paused_.size(); ++i) {
    if (paused_[i].sample_step == sample_step) return paused_[i].instant;
  }
  return paused_.front().instant;
}

}  // namespace headroom
