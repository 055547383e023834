// The part of Replica that is about tokens whose predecessor is not one step old: behind a
// preemption, and behind steps in which the decoding rows stood by.

#include <fmt/format.h>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

void Replica::note_gaps(const Segment& segment, TickSum end) {
  for (const RequestId id : segment.first_tokens) {
    const TickSum last = progress_[id].last_token;
    if (rarely(last >= 0)) other_gaps_.push_back({end - last, 1});
  }
  if (mostly(paused_.empty()) || !segment.decodes) return;
  std::int64_t rows = 0;
  for (const PausedRows& group : paused_) {
    rows += group.rows;
    if (group.rows > 0) other_gaps_.push_back({end - group.instant, group.rows});
  }
  HEADROOM_CHECK(rows == segment.gaps_per_step,
                 fmt::format("{} rows paused, {} go on", rows, segment.gaps_per_step));
}

// A step without the decoding rows ends at the next instant: they stand by, and those that it lets
// begin join them. Latest tokens came out at `before` it, and at `after` it.
void Replica::note_pause(const Segment& segment, TickSum before, TickSum after) {
  if (paused_.empty()) paused_.push_back({0, before, segment.rows_paused});
  std::int64_t rows = 0;
  for (const RequestId id : segment.first_tokens) {
    rows += requests_[id].state == RequestState::decoding ? 1 : 0;
  }
  paused_.push_back({segment.first, after, rows});
}

// A decoding row leaves the batch: it is no longer among those that stand by.
void Replica::leave_pause(RequestId id) {
  const Progress& progress = progress_[id];
  for (std::size_t i = 0; i < pipeline_.size(); ++i) {
    Segment& segment = pipeline_[i];
    if (rarely(!segment.decodes) && progress.sample_step < segment.first) --segment.rows_paused;
  }
  if (mostly(paused_.empty()) || progress.sample_step > completed_) return;
  for (std::size_t i = 1; i < paused_.size(); ++i) {
    if (paused_[i].sample_step != progress.sample_step) continue;
    --paused_[i].rows;
    return;
  }
  --paused_.front().rows;
}

// When the latest token of a decoding row came out that has none in flight.
TickSum Replica::last_token_of(RequestId id) const {
  if (speculates() && progress_[id].last_token >= 0) return progress_[id].last_token;
  if (paused_.empty()) return latest_tokens();
  for (std::size_t i = 1; i < paused_.size(); ++i) {
    if (paused_[i].sample_step == progress_[id].sample_step) return paused_[i].instant;
  }
  return paused_.front().instant;
}

}  // namespace headroom
