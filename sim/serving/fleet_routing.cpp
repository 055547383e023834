// The part of Fleet for arrivals: which requests are admitted, and which replica gets each.

#include <fmt/format.h>

#include "sim/kernel/check.hpp"
#include "sim/serving/fleet.hpp"
#include "sim/serving/route_stages.hpp"

namespace headroom {

std::uint32_t Fleet::route(Router& router, const Arrival& arrival, std::uint64_t index,
                           TimeNs now_ns) {
  if (replicas_.size() == 1) return one_that_takes(0);
  while (!delayed_loads_.empty() && delayed_loads_.front().due_ns <= now_ns) {
    show_load(delayed_loads_.front().replica, delayed_loads_.front().load);
    delayed_loads_.pop_front();
  }
  const std::uint32_t number = stages_ ? stages_->replica_for(arrival, index, loads_)
                                       : router.route_numbered(arrival, index, loads_);
  HEADROOM_CHECK(number < replicas_.size(), fmt::format("a router chose replica {}", number));
  return one_that_takes(number);
}

// After everything that may have changed replica `number`.
void Fleet::note_load(std::uint32_t number, TimeNs now_ns) {
  ReplicaLoad load = replicas_[number]->load(now_ns);
  load.outstanding_tokens += prompt_tokens_[number];
  if (entries_) {
    load.waiting += entries_->held_for(number);
    load.waiting_tokens += entries_->held_tokens_for(number);
  }
  if (parts_.lifecycle) parts_.lifecycle->on_load(number, load, is_empty(number), now_ns);
  if (load == noted_loads_[number]) return;
  if (apart_ && apart_->prefills(number)) {
    apart_->waiting_for_prefill += load.waiting - noted_loads_[number].waiting;
  }
  const TokenCount more = load.waiting_tokens - noted_loads_[number].waiting_tokens;
  waiting_tokens_ += more;
  if (more < 0) scheduled_tokens_ -= more;
  noted_loads_[number] = load;
  if (options_.router_delay_ns == 0) return show_load(number, load);
  delayed_loads_.push_back({now_ns + options_.router_delay_ns, number, load});
}

void Fleet::show_load(std::uint32_t number, const ReplicaLoad& load) {
  loads_[number] = load;
  // Who takes no requests is known at once, whatever else is old.
  if (parts_.lifecycle && !parts_.lifecycle->takes(number)) loads_[number].up = false;
  parts_.router->on_load(number, loads_);
  if (apart_) apart_->decode_router().on_load(number, loads_);
}

DoorState Fleet::door(TimeNs now_ns) const {
  // This request has arrived and is not admitted yet.
  const auto in_flight = static_cast<std::int64_t>(totals_.arrived - departed_) - 1;
  return {.now_ns = now_ns,
          .in_flight = in_flight,
          .waiting_tokens = waiting_tokens_,
          .scheduled_tokens = scheduled_tokens_};
}

// No replica ever hears of it.
void Fleet::turn_away(const Arrival& arrival, std::uint64_t index, TimeNs now_ns, Outcome outcome,
                      TimeNs queued_ns) {
  ++totals_.turned_away;
  sink_.on_event({.kind = EngineEventKind::overloaded,
                  .time_ns = now_ns,
                  .replica = kNoReplica,
                  .request = index,
                  .tokens = TokenCount{arrival.prompt_tokens} + arrival.max_tokens});
  RequestRecord record = unseen_record(arrival, index, kNoReplica, outcome, now_ns);
  record.queued_ns = queued_ns;
  sink_.on_request(record);
  depart(index, outcome, now_ns);
  schedule_arrival(now_ns);
}

}  // namespace headroom
