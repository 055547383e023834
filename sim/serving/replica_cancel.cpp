// The part of Replica that is about clients that give up (docs/semantics.md, "Clients that leave").

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

bool Replica::awaits(RequestId id, std::uint64_t index, bool first_token, TimeNs time_ns) const {
  const Progress& progress = progress_[id];
  if (!progress.here || progress.recorded || requests_[id].index != index) return false;
  const bool begun = progress.first_token_ns >= 0 && progress.first_token_ns <= time_ns &&
                     !parts_.options.responds_at_end;
  return !progress.cancelled && !(first_token && begun);
}

void Replica::cancel(RequestId id, TimeNs now_ns) {
  Progress& progress = progress_[id];
  progress.cancelled = true;
  const bool waits = requests_[id].state == RequestState::waiting;
  const bool in_flight = !waits || progress.counted_to > completed_ || holds_early(id);
  if (in_flight && !parts_.options.cancels_running) return;
  if (!pipeline_.empty()) cut_at(now_ns);
  if (in_flight && !pipeline_.empty() && next_plan_ns_ != now_ns) return cancelled_.push_back(id);
  withdraw(id, now_ns);
  if (pipeline_.empty() && now_ns >= down_until_ns_) next_plan_ns_ = now_ns;
}

void Replica::withdraw_cancelled(TimeNs now_ns) {
  HEADROOM_CHECK(completed_ >= plan_due_, "a client's leaving waits for the next step end");
  for (const RequestId id : cancelled_) {
    // What it waited for may have come with this step: then it has left already.
    if (progress_[id].here && progress_[id].cancelled) withdraw(id, now_ns);
  }
  cancelled_.clear();
}

// Takes a request out at an instant at which the engine plans: what is in flight for it is computed
// and dropped.
void Replica::withdraw(RequestId id, TimeNs now_ns) {
  Request& request = requests_[id];
  const bool waits = request.state == RequestState::waiting;
  membership_changed_ = true;
  const bool leaves = leave_scheduler(id);
  HEADROOM_CHECK(leaves, "a row that cannot leave its batch was cancelled");
  EngineEvent event;
  event.kind = EngineEventKind::cancelled;
  event.time_ns = now_ns;
  event.replica = number_;
  event.request = request.index;
  event.tokens = generated_so_far(id);
  event.was_waiting = waits;
  sink_.on_event(event);
  record(id, Outcome::cancelled, now_ns);
  leave_adapter(request);
  if (waits) {
    leave_queue(id);
    withdraw_waiting(id);
  } else {
    const TokenCount held = computed_by(request, applied_decodes_);
    const TokenCount unnamed = unnamed_tokens(id, held);
    forget_in_flight(id);
    const bool stands_by =
        request.state == RequestState::decoding || progress_[id].last_decode > completed_decodes_;
    if (request.state != RequestState::prefilling && stands_by) leave_pause(id);
    if (request.state == RequestState::decoding) {
      decodes_.leave(parts_.kv->row_of(request, held));
    } else {
      prefill_kept_ -= kept(held);
    }
    parts_.kv->release(id, request, held, KvRelease::finished, unnamed);
    --residents_;
    final_tokens_ -= final_tokens_of(id);
  }
  if (last_refused_ == id) last_refused_ = kNoRequest;
  remove(id);
}

// Rows of steps in flight stay as priced, but yield nothing for this request.
void Replica::forget_in_flight(RequestId id) {
  const Progress& progress = progress_[id];
  if (requests_[id].state == RequestState::prefilling) return;
  StepIndex decodes = completed_decodes_;
  for (std::size_t i = 0; i < pipeline_.size(); ++i) {
    Segment& segment = pipeline_[i];
    if (std::erase(segment.first_tokens, id) > 0) {
      ++ghost_rows_;
    } else if (segment.decodes && progress.last_decode > decodes) {
      --segment.gaps_per_step;
    }
    if (segment.decodes) decodes += segment.left();
  }
}

}  // namespace headroom
