// The part of Replica that says how long each token came behind its predecessor.

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

// What the gaps of a run are that ends at `end` where they need not be its steps.
[[gnu::noinline]] void Replica::shape_gaps(const Segment& segment, StepCount steps, TickSum end) {
  const bool streams = !parts_.options.responds_at_end;
  const bool resumes = gaps_.paused() && segment.decodes;
  if (streams) note_first_gaps(segment, end);
  if (streams && resumes) gaps_.add_over_pause(end, segment.gaps_per_step);
  std::int64_t late = 0;
  if (speculates()) {
    late = draw_accepted(end);
    run_.verified = drafted_.outcomes;
    run_.extra_tokens = drafted_.extra_tokens;
  }
  run_.gaps_per_step = streams && !resumes ? segment.gaps_per_step - late : 0;
  if (!api_) return;
  api_->put_out(time_.clock(), steps, run_.first_ticks, segment.price.slope,
                segment.gaps_per_step + drafted_.extra_tokens +
                    static_cast<std::int64_t>(segment.first_tokens.size()));
  gaps_.shift(api_->written() - end);
  run_.gaps = api_->gaps();
}

// A first token after a preemption is not the first one of its request.
void Replica::note_first_gaps(const Segment& segment, TickSum end) {
  for (const RequestId id : segment.first_tokens) {
    const TickSum last = stories_[id].last_token;
    if (rarely(last >= 0)) gaps_.add(end - last);
  }
}

// A step without the decoding rows ends at the next instant: they stand by, and those that it lets
// begin join them. Latest tokens came out at `before` it, and at `after` it.
void Replica::note_pause(const Segment& segment, TickSum before, TickSum after) {
  std::int64_t begun = 0;
  for (const RequestId id : segment.first_tokens) {
    begun += requests_[id].state == RequestState::decoding ? 1 : 0;
  }
  gaps_.pause(segment.first, segment.rows_paused, begun, before, after);
}

// A decoding row leaves the batch: it is no longer among those that stand by.
void Replica::leave_pause(RequestId id) {
  const StepIndex sample_step = stories_[id].sample_step;
  StepPipeline& segments = time_.segments();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (rarely(!segments[i].decodes) && sample_step < segments[i].first) --segments[i].rows_paused;
  }
  if (rarely(gaps_.paused()) && sample_step <= time_.completed()) gaps_.leave_pause(sample_step);
}

// When the latest token of a decoding row came out that has none in flight.
TickSum Replica::last_token_of(RequestId id) const {
  const RequestStory& story = stories_[id];
  if (speculates() && story.last_token >= 0) return story.last_token;
  return gaps_.latest_token(story.sample_step, latest_tokens());
}

}  // namespace headroom
