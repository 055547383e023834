#pragma once
// What a replica knows of one of its requests, and no policy may see: the true length of its
// output, and what has become of it so far.

#include <algorithm>
#include <cstdint>

#include "sim/kernel/time.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/step_timeline.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

// A stay is the time from an admission to the end, or to the next preemption.
struct RequestStory {
  std::int32_t output_tokens = 0;  // true length, cut to max_tokens
  std::int32_t generated = 0;      // tokens out before this stay, and
  StepIndex counted_to = 0;        //   the last of them at the end of this step
  StepIndex sample_step = 0;       // step that yields the first token of this stay
  StepIndex sample_decode = 0;     // decode steps up to that one
  StepIndex last_decode = 0;       // decode step that yields its last token
  TimeNs queued_ns = -1;
  TimeNs first_scheduled_ns = -1;
  TimeNs first_token_ns = -1;
  // Instant of the latest token as its client sees it, kept only over a preemption, and over steps
  // that a row with drafts sits out.
  TickSum last_token = -1;
  bool here = false;       // this replica holds the request
  bool recorded = false;   // its request has left: a ghost row, or KV that waits to be fetched
  bool cancelled = false;  // the client has gone

  // Tokens of `request` that are out by the end of step time.completed().
  [[nodiscard]] std::int32_t generated_by(const StepTimeline& time, const Request& request) const {
    if (request.state == RequestState::waiting || request.state == RequestState::prefilling) {
      return generated - (counted_to > time.completed() ? 1 : 0);
    }
    if (sample_step > time.completed()) return generated;
    const StepIndex last = std::min(time.completed_decodes(request.micro_batch), last_decode);
    return generated + static_cast<std::int32_t>(last - sample_decode + 1);
  }
};

}  // namespace headroom
