// The part of Fleet that is about prompts computed on one replica and decoded on another
// (docs/semantics.md, "Prefill and decode apart").

#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/fleet.hpp"

namespace headroom {

// Where a request begins. With a condition the decode replica is chosen first, and says whether it
// had better compute the prompt itself: it lacks few tokens of it, or the prefill replicas are
// behind. NVIDIA Dynamo's rule (docs, "Conditional disaggregation"): remote if the prefill without
// the prefix cache hit is longer than max_local_prefill_length, and fewer requests than
// max_prefill_queue_size are in the prefill queue.
std::uint32_t Fleet::first_replica(const Arrival& arrival, std::uint64_t index, TimeNs now_ns) {
  if (mostly(apart_ == nullptr) || !apart_->is_conditional()) {
    return route(*parts_.router, arrival, index, now_ns);
  }
  const DisaggregationOptions& options = apart_->options();
  const std::uint32_t decode = route(apart_->decode_router(), arrival, index, now_ns);
  const TokenCount lacks = arrival.prompt_tokens - replicas_[decode]->cached_tokens(arrival);
  if (options.max_local_prefill_tokens && lacks <= *options.max_local_prefill_tokens) {
    ++apart_->counts.local_short;
    return decode;
  }
  if (options.max_prefill_queue && apart_->waiting_for_prefill >= *options.max_prefill_queue) {
    ++apart_->counts.local_queued;
    return decode;
  }
  apart_->choose(index, decode);
  return route(*parts_.router, arrival, index, now_ns);
}

// What replica `number` has to tell, after everything that may have changed it.
void Fleet::collect_handovers(std::uint32_t number, TimeNs now_ns) {
  Handovers& told = replicas_[number]->handovers();
  for (const KvOffer& offer : std::exchange(told.offers, {})) {
    ++in_transit_;
    prompt_tokens_[number] -= offer.prompt_tokens;
    apart_->offered(number, offer, now_ns);
  }
  for (const KvFetch& fetch : std::exchange(told.fetches, {})) apart_->fetch(fetch, now_ns);
  for (const HandedBack& request : std::exchange(told.handed_back, {})) {
    ++in_transit_;
    apart_->send_anew(number, request, now_ns);
  }
  schedule_handovers();
}

// After the count of replica `number`: notifies others.
void Fleet::lose_handovers(std::uint32_t number, TimeNs now_ns) {
  for (const LostKv& lost : std::exchange(replicas_[number]->handovers().lost, {})) {
    lose_kv(number, lost, now_ns);
  }
}

void Fleet::schedule_handovers() {
  reschedule(Priority::arrival, sources_.of(SourceKind::handovers), apart_->next_ns(),
             next_handover_ns_);
}

void Fleet::move_handovers(TimeNs now_ns) {
  next_handover_ns_ = kNever;  // taken
  const Disaggregation::Due due = apart_->take();
  using Handover = Disaggregation::Handover;
  if (due.sends_anew) {
    resend(due.from, due.request, now_ns);
  } else if (apart_->handover(due.number).stage == Handover::Stage::offered) {
    hand_on(due.number, now_ns);
  } else {
    complete_transfer(due.number, now_ns);
  }
  schedule_handovers();
}

// The run ends after an event that has not been answered yet, so requests between two replicas
// reach one.
void Fleet::settle_handovers() {
  while (in_transit_ > 0) move_handovers(totals_.end_ns);
}

// The decode replica queues it until it has room.
void Fleet::hand_on(std::uint64_t number, TimeNs now_ns) {
  const KvOffer offer = apart_->handover(number).offer;
  const Arrival arrival = in_flight_.at(offer.index);
  const auto chosen = apart_->take_choice(offer.index);
  Arrival comes_now = arrival;
  comes_now.time_ns = now_ns;
  const std::uint32_t to =
      chosen ? *chosen : route(apart_->decode_router(), comes_now, offer.index, now_ns);
  HEADROOM_CHECK(!apart_->prefills(to), "a prefill replica was chosen to decode");
  prompt_tokens_[to] += arrival.prompt_tokens;
  --in_transit_;
  const RequestId id = replicas_[to]->submit(arrival, offer.index, now_ns, offer.queued_ns, &offer);
  apart_->entered(number, to, id);
  await(arrival, offer.index, to, id);
  account(to, now_ns);
  reschedule(to);
}

void Fleet::complete_transfer(std::uint64_t number, TimeNs now_ns) {
  const Disaggregation::Handover over = apart_->arrived(number);
  if (over.stage == Disaggregation::Handover::Stage::moves) {
    replicas_[over.to]->receive_kv(over.id, now_ns);
    account(over.to, now_ns);
    reschedule(over.to);
  }
  release_kv(over, now_ns);
}

void Fleet::release_kv(const Disaggregation::Handover& handover, TimeNs now_ns) {
  replicas_[handover.from]->release_kv(handover.offer.hold, now_ns);
  reschedule(handover.from);
}

// Requests that wait for it are lost with it, or start again.
void Fleet::lose_kv(std::uint32_t from, const LostKv& lost, TimeNs now_ns) {
  const auto over = apart_->lose(from, lost);
  if (!over) return;
  const Outcome outcome = replicas_[from]->down_outcome();
  const bool hand_back = options_.resends_lost && outcome == Outcome::lost_to_fault;
  replicas_[over->to]->lose_kv(over->id, outcome, hand_back, now_ns);
  account(over->to, now_ns);
  reschedule(over->to);
}

}  // namespace headroom
