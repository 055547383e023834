// The part of Replica that is about prompts computed on one replica and decoded on another
// (docs/semantics.md, "Prefill and decode apart").

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/serving/kv_layout.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

using RemoteStage = RemoteRequest::Stage;

// It waits, and holds blocks all the same.
bool Replica::holds_early(RequestId id) const {
  const RemoteStage stage = stage_of(id);
  return stage == RemoteStage::fetching || stage == RemoteStage::arrived;
}

// Tokens that the engine has to compute before it decodes.
TokenCount Replica::queued_tokens(RequestId id) const {
  const RemoteStage stage = stage_of(id);
  const bool comes = stage == RemoteStage::waits_for_room || holds_early(id);
  return comes ? 1 : requests_[id].known_tokens;
}

TokenCount Replica::cached_tokens(const Arrival& arrival) const {
  Request request;
  request.index = UINT64_MAX;  // of nobody who is here
  request.prompt_tokens = request.known_tokens = arrival.prompt_tokens;
  request.prefix = arrival.prefix;
  request.output_segment = arrival.output_segment;
  request.prompt_logprobs = arrival.prompt_logprobs;
  return parts_.kv->cached_prefix(kNoRequest, request);
}

// --- a request begins ---------------------------------------------------------------------------

void Replica::begin_remote(RequestId id, const KvOffer* prefilled) {
  if (id >= remote_->by_id.size()) remote_->by_id.resize(std::size_t{id} + 1);
  RemoteRequest& remote = remote_->by_id[id];
  remote = {};
  Request& request = requests_[id];
  RequestStory& story = stories_[id];
  remote.max_tokens = request.max_tokens;
  if (parts_.options.role == ReplicaRole::prefill) {
    // What proxies ask of a prefill instance (vLLM, toy_proxy_server.py: max_tokens = 1). A client
    // who has its whole answer with that is done.
    const bool is_whole = parts_.options.prefill_token_counts && story.output_tokens == 1;
    remote.hands_on = !is_whole;
    request.max_tokens = story.output_tokens = 1;
  }
  if (prefilled == nullptr) return;
  HEADROOM_CHECK(parts_.options.role == ReplicaRole::decode, "KV for a replica that fetches none");
  remote.stage = RemoteStage::waits_for_room;
  remote.place = remote_->places++;
  remote_->waiting_for_room.emplace(remote.place, id);
  story.first_scheduled_ns = prefilled->first_scheduled_ns;
  if (!parts_.options.prefill_token_counts) return;
  remote.carried = story.generated = 1;
  request.known_tokens = request.prompt_tokens + 1;
  story.first_token_ns = prefilled->prefilled_ns;
  story.last_token = prefilled->token;
}

// --- on the prefill replica ---------------------------------------------------------------------

bool Replica::hands_on(RequestId id) const {
  return remote_->by_id[id].hands_on && !stories_[id].cancelled;
}

// Its token is out and it is in no batch any more; its KV stays.
void Replica::hand_on(RequestId id) {
  Request& request = requests_[id];
  RequestStory& story = stories_[id];
  HEADROOM_CHECK(generated_so_far(id) == 1, "a prefill yields one token");
  if (request.state == RequestState::waiting) {
    // Preempted while that token was in flight: there is nothing to fetch.
    leave_queue(id);
    parts_.kv->release(id, request, 0, KvRelease::finished);
    tally_.hand_back(1);
    remote_->handovers.handed_back.push_back({request.index, story.queued_ns});
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
  remote_->by_id[id].stage = RemoteStage::held;
  ++remote_->held;
  remote_->handovers.offers.push_back({.index = request.index,
                                       .hold = hold_of(id),
                                       .prompt_tokens = request.prompt_tokens,
                                       .queued_ns = story.queued_ns,
                                       .first_scheduled_ns = story.first_scheduled_ns,
                                       .prefilled_ns = story.first_token_ns,
                                       .token = time_.clock()});
}

void Replica::release_kv(const KvHold& hold, TimeNs now_ns) {
  leave_when_planning({.request = hold, .is_given_back = true}, now_ns);
}

// --- on the decode replica ----------------------------------------------------------------------

// Before a plan: takes the blocks of those that wait for room, in order, and asks for their KV. A
// seat must be free, as for every admission (vLLM, scheduler.py: the waiting loop), and the step
// that is being planned must not lack a block over it: who cannot be taken now cannot be taken
// later in the same run of steps either.
void Replica::take_in() {
  auto& waiting = remote_->waiting_for_room;
  while (!waiting.empty() && sums_.residents() < parts_.options.max_sequences) {
    const RequestId id = waiting.begin()->second;
    const Request& request = requests_[id];
    RemoteRequest& remote = remote_->by_id[id];
    const TokenCount found = parts_.kv->cached_prefix(id, request);
    const BlockCount keep = sums_.residents() > 0 ? parts_.options.arriving_keep_free : 0;
    // Nobody finds the blocks that are fetched before their KV is there (vLLM:
    // delay_cache_blocks): what is not known yet counts as lookahead.
    const KvGrowth growth{.id = id,
                          .request = &request,
                          .cached_tokens = found,
                          .hold_tokens = request.known_tokens,
                          .lookahead_tokens = request.known_tokens - found,
                          .fit_tokens = request.known_tokens,
                          .keep_free = std::max(keep, sums_.decodes().blocks_needed())};
    if (!parts_.kv->try_grow(growth)) return;
    waiting.erase(waiting.begin());
    remote.stage = RemoteStage::fetching;
    remote.found = found;
    remote.reserved = request.known_tokens;
    sums_.hold(remote.reserved);
    shown_.become_stale();
    const std::int32_t size = pool().block_tokens;
    remote_->handovers.fetches.push_back(
        {request.index, blocks_needed(request.prompt_tokens, size) - found / size});
  }
}

void Replica::receive_kv(RequestId id, TimeNs now_ns) {
  HEADROOM_CHECK(stage_of(id) == RemoteStage::fetching, "KV that nobody waits for");
  remote_->by_id[id].stage = RemoteStage::arrived;
  parts_.scheduler->enqueue_arrived(id, requests_[id]);
  wake(now_ns);
}

// Of one that is being admitted: the tokens of its context that were found in this replica's cache.
TokenCount Replica::admit_remote(RequestId id, TokenCount context) {
  RemoteRequest& remote = remote_->by_id[id];
  if (remote.stage != RemoteStage::arrived) return context;
  remote.stage = RemoteStage::none;
  sums_.let_go(remote.reserved);
  return remote.found;
}

void Replica::lose_kv(RequestId id, Outcome outcome, bool hand_back, TimeNs now_ns) {
  leave_when_planning({hold_of(id), false, outcome, hand_back}, now_ns);
}

// --- both ---------------------------------------------------------------------------------------

// Gives up the blocks of a waiting request that leaves, if it has any.
void Replica::withdraw_waiting(RequestId id) {
  const Request& request = requests_[id];
  if (!holds_early(id)) return parts_.kv->release(id, request, 0, KvRelease::finished);
  const TokenCount reserved = remote_->by_id[id].reserved;
  sums_.let_go(reserved);
  parts_.kv->release(id, request, reserved, KvRelease::dropped);
}

bool Replica::leave_scheduler(RequestId id) {
  const RemoteStage stage = stage_of(id);
  if (stage == RemoteStage::waits_for_room) {
    remote_->waiting_for_room.erase(remote_->by_id[id].place);
  }
  if (stage == RemoteStage::waits_for_room || stage == RemoteStage::fetching) return true;
  return parts_.scheduler->on_leave(id);
}

// Blocks change hands when the engine plans, and at no other instant: so nobody sees how a run of
// steps is cut, nor which of several replicas was told first.
void Replica::leave_when_planning(const RemoteRequests::Exit& exit, TimeNs now_ns) {
  remote_->exits.push_back(exit);
  wake(now_ns);
}

void Replica::apply_exits(TimeNs now_ns) {
  for (const RemoteRequests::Exit& exit : std::exchange(remote_->exits, {})) {
    apply_exit(exit, now_ns);
  }
}

void Replica::apply_exit(const RemoteRequests::Exit& exit, TimeNs now_ns) {
  const RequestId id = exit.request.id;
  if (!stories_[id].here || hold_of(id) != exit.request) return;  // gone meanwhile
  shown_.become_stale();
  if (exit.is_given_back) {
    const Request& request = requests_[id];
    HEADROOM_CHECK(stage_of(id) == RemoteStage::held, "KV that is not held for others");
    sums_.let_go(request.computed_tokens);
    parts_.kv->release(id, request, request.computed_tokens, KvRelease::finished);
    --remote_->held;
    return remove(id);
  }
  const bool leaves = leave_scheduler(id);
  HEADROOM_CHECK(leaves && requests_[id].state == RequestState::waiting,
                 "KV was lost of one that does not wait for it");
  withdraw_waiting(id);
  lose(id, now_ns, exit.outcome, exit.hand_back ? &remote_->handovers.handed_back : nullptr);
}

}  // namespace headroom
