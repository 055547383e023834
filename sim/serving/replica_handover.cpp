// The part of Replica that is about prompts computed on one replica and decoded on another
// (docs/semantics.md, "Prefill and decode apart").

#include "sim/kernel/check.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

TokenCount Replica::cached_tokens(const Arrival& arrival) const {
  Request request;
  request.index = UINT64_MAX;  // of nobody who is here
  request.prompt_tokens = request.known_tokens = arrival.prompt_tokens;
  request.prefix = arrival.prefix;
  request.output_segment = arrival.output_segment;
  request.prompt_logprobs = arrival.prompt_logprobs;
  return core_.kv.cached_prefix(kNoRequest, request);
}

// Its token is out: it leaves the batch, and its KV stays.
void Replica::hand_on(RequestId id) {
  Request& request = core_.requests[id];
  RequestStory& story = core_.stories[id];
  HEADROOM_CHECK(core_.generated(id) == 1, "a prefill yields one token");
  if (request.state == RequestState::waiting) {
    // Preempted while that token was in flight: there is nothing to fetch.
    core_.leave_queue(id);
    core_.kv.release(id, request, 0, KvRelease::finished);
    tally_.hand_back(1);
    core_.remote.hand_back({request.index, story.queued_ns});
    return core_.remove(id);
  }
  tally_.settle(1);
  const TokenCount held = core_.held(id);
  if (request.state == RequestState::decoding) {
    core_.sums.end_decoding(request, held);
    core_.sums.hold(held);
  }
  HEADROOM_CHECK(held == request.prompt_tokens, "a prefill computes its prompt");
  request.computed_tokens = static_cast<std::int32_t>(held);
  request.state = RequestState::ending;
  core_.sums.leave_batch(core_.final_tokens(id));
  story.recorded = true;
  core_.remote.hold(id, {.index = request.index,
                         .hold = core_.stay(id),
                         .prompt_tokens = request.prompt_tokens,
                         .queued_ns = story.queued_ns,
                         .first_scheduled_ns = story.first_scheduled_ns,
                         .prefilled_ns = story.first_token_ns,
                         .token = core_.time.clock()});
}

void Replica::receive_kv(RequestId id, TimeNs now_ns) {
  core_.remote.arrive(id);
  scheduler_->enqueue_arrived(id, core_.requests[id]);
  wake(now_ns);
}

void Replica::release_kv(const KvHold& hold, TimeNs now_ns) {
  core_.remote.leave_when_planning({.request = hold, .is_given_back = true});
  wake(now_ns);
}

void Replica::lose_kv(RequestId id, Outcome outcome, bool hand_back, TimeNs now_ns) {
  core_.remote.leave_when_planning({core_.stay(id), false, outcome, hand_back});
  wake(now_ns);
}

void Replica::apply_exits(TimeNs now_ns) {
  for (const RemoteRequests::Exit& exit : core_.remote.take_exits()) {
    const RequestId id = exit.request.id;
    if (!core_.stories[id].here || core_.stay(id) != exit.request) continue;  // gone meanwhile
    const Request& request = core_.requests[id];
    shown_.become_stale();
    if (exit.is_given_back) {
      core_.remote.end_hold(id);
      core_.sums.let_go(request.computed_tokens);
      core_.kv.release(id, request, request.computed_tokens, KvRelease::finished);
      core_.remove(id);
      continue;
    }
    const bool leaves = leave_scheduler(id);
    HEADROOM_CHECK(leaves && request.state == RequestState::waiting,
                   "KV was lost of one that does not wait for it");
    core_.remote.withdraw(id, request, core_.sums, core_.kv);
    lose(id, now_ns, exit.outcome, exit.hand_back ? &core_.remote.handed_back() : nullptr);
  }
}

// False: its row stays in the batch.
bool Replica::leave_scheduler(RequestId id) {
  return core_.remote.leave_line(id) || scheduler_->on_leave(id);
}

}  // namespace headroom
