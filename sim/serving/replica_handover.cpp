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
  return parts_.kv->cached_prefix(kNoRequest, request);
}

// Its token is out: it leaves the batch, and its KV stays.
void Replica::hand_on(RequestId id) {
  Request& request = requests_[id];
  RequestStory& story = stories_[id];
  HEADROOM_CHECK(generated_so_far(id) == 1, "a prefill yields one token");
  if (request.state == RequestState::waiting) {
    // Preempted while that token was in flight: there is nothing to fetch.
    leave_queue(id);
    parts_.kv->release(id, request, 0, KvRelease::finished);
    tally_.hand_back(1);
    remote_.hand_back({request.index, story.queued_ns});
    return remove(id);
  }
  tally_.settle(1);
  const TokenCount held = computed_by(request, time_.applied_decodes());
  if (request.state == RequestState::decoding) {
    sums_.end_decoding(request, held);
    sums_.hold(held);
  }
  HEADROOM_CHECK(held == request.prompt_tokens, "a prefill computes its prompt");
  request.computed_tokens = static_cast<std::int32_t>(held);
  request.state = RequestState::ending;
  sums_.leave_batch(final_tokens_of(id));
  story.recorded = true;
  remote_.hold(id, {.index = request.index,
                    .hold = hold_of(id),
                    .prompt_tokens = request.prompt_tokens,
                    .queued_ns = story.queued_ns,
                    .first_scheduled_ns = story.first_scheduled_ns,
                    .prefilled_ns = story.first_token_ns,
                    .token = time_.clock()});
}

void Replica::receive_kv(RequestId id, TimeNs now_ns) {
  remote_.arrive(id);
  parts_.scheduler->enqueue_arrived(id, requests_[id]);
  wake(now_ns);
}

void Replica::release_kv(const KvHold& hold, TimeNs now_ns) {
  remote_.leave_when_planning({.request = hold, .is_given_back = true});
  wake(now_ns);
}

void Replica::lose_kv(RequestId id, Outcome outcome, bool hand_back, TimeNs now_ns) {
  remote_.leave_when_planning({hold_of(id), false, outcome, hand_back});
  wake(now_ns);
}

void Replica::apply_exits(TimeNs now_ns) {
  for (const RemoteRequests::Exit& exit : remote_.take_exits()) {
    const RequestId id = exit.request.id;
    if (!stories_[id].here || hold_of(id) != exit.request) continue;  // gone meanwhile
    const Request& request = requests_[id];
    shown_.become_stale();
    if (exit.is_given_back) {
      remote_.end_hold(id);
      sums_.let_go(request.computed_tokens);
      parts_.kv->release(id, request, request.computed_tokens, KvRelease::finished);
      remove(id);
      continue;
    }
    const bool leaves = leave_scheduler(id);
    HEADROOM_CHECK(leaves && request.state == RequestState::waiting,
                   "KV was lost of one that does not wait for it");
    remote_.withdraw(id, request, sums_, *parts_.kv);
    lose(id, now_ns, exit.outcome, exit.hand_back ? &remote_.handed_back() : nullptr);
  }
}

// False: its row stays in the batch.
bool Replica::leave_scheduler(RequestId id) {
  return remote_.leave_line(id) || parts_.scheduler->on_leave(id);
}

}  // namespace headroom
