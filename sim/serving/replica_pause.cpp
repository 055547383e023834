// The part of Replica that is about tokens whose predecessor is not one step old: behind a
// preemption, and behind steps in which the decoding rows stood by.

#include <fmt/format.h>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

// What the gaps of a run are that ends at `end` where they need not be its steps.
[[gnu::noinline]] void Replica::shape_gaps(const Segment& segment, StepCount steps, TickSum end) {
  const bool streams = !parts_.options.responds_at_end;
  const bool resumes = !paused_.empty() && segment.decodes;
  if (streams) note_first_gaps(segment, end);
  if (streams && resumes) note_gaps_over_pause(segment, end);
  std::int64_t late = 0;
  if (speculates()) {
    late = draw_accepted(end);
    run_.verified = outcomes_;
    run_.extra_tokens = extra_tokens_;
  }
  run_.gaps_per_step = streams && !resumes ? segment.gaps_per_step - late : 0;
  if (!api_) return;
  api_->put_out(clock_, steps, run_.first_ticks, segment.price.slope,
                segment.gaps_per_step + extra_tokens_ +
                    static_cast<std::int64_t>(segment.first_tokens.size()));
  for (GapGroup& gaps : other_gaps_) gaps.gap += api_->written() - end;
  run_.gaps = api_->gaps();
}

// A first token after a preemption is not the first one of its request.
void Replica::note_first_gaps(const Segment& segment, TickSum end) {
  for (const RequestId id : segment.first_tokens) {
    const TickSum last = progress_[id].last_token;
    if (rarely(last >= 0)) other_gaps_.push_back({end - last, 1});
  }
}

void Replica::note_gaps_over_pause(const Segment& segment, TickSum end) {
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
