// The part of Replica that is about the API server between it and its clients (docs/semantics.md,
// "The API server").

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

void Replica::send(const Arrival& arrival, std::uint64_t index, TimeNs now_ns) {
  catch_up(now_ns);
  api_->send(arrival, index, number_, now_ns);
}

std::optional<Admission> Replica::admit_sent(TimeNs now_ns) {
  const std::optional<ApiServer::Ready> ready = api_->take_ready(now_ns);
  if (!ready) return std::nullopt;
  catch_up(now_ns);
  return Admission{ready->arrival, ready->index, submit(ready->arrival, ready->index, now_ns)};
}

void Replica::collect_answers(TimeNs now_ns) {
  while (const std::optional<RequestRecord> record = api_->take_answer(now_ns)) {
    tally_.depart(*record);
  }
}

// Tells the API server of all steps that have ended, short of those at whose end the engine does
// something: their events come first.
void Replica::catch_up(TimeNs now_ns) {
  if (core_.time.idle() || core_.time.next_stop_ns() == kNever) return;
  if (core_.time.clock() < ticks_from_ns(now_ns)) run_to(core_.time.ended_before(now_ns));
}

// A request leaves the engine, and the system as soon as its client knows.
void Replica::leave(const RequestRecord& record, const ApiServer::Patience& patience) {
  if (features_.any(Features::api_server) && record.outcome != Outcome::unfinished) {
    return api_->answer(record, patience,
                        std::max(core_.time.clock(), ticks_from_ns(record.finish_ns)));
  }
  tally_.depart(record);
}

// When the tokens of the latest step reached the clients, with its sub-nanosecond part and without
// what is the same for all.
TickSum Replica::latest_tokens() const {
  return features_.any(Features::api_server) ? api_->written() : core_.time.clock();
}

}  // namespace headroom
