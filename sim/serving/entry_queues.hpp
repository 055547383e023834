#pragma once
// The way of requests into their engines where the API server is no model of its own
// (docs/semantics.md, "The API server"): client, HTTP and tokeniser take one request after the
// other, so that the second of two that come together is queued later. One queue per replica.
//
// What a lone request waits there is in the client's latency (sim/metrics). So a request that finds
// nobody before it enters its engine at once, and one that does enters when the work before it is
// done.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/kernel/time.hpp"
#include "sim/serving/api_server.hpp"
#include "sim/serving/options.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

class EntryQueues {
 public:
  // `work`: by replica, for each request.
  explicit EntryQueues(std::vector<EntryWork> work);

  struct Held {
    TimeNs time_ns = 0;        // it enters its engine, or its client gives up before
    std::uint64_t number = 0;  // in order of coming
    std::uint64_t index = 0;
    std::uint32_t replica = 0;
    bool gives_up = false;
    Arrival arrival;
  };

  // Requests come in the order of time. Answers of one prompt that are sent in one nanosecond are
  // one request. False: this one enters its engine now; otherwise it is held.
  [[nodiscard]] bool holds(const Arrival& arrival, std::uint64_t index, std::uint32_t replica,
                           TimeNs now_ns);
  // When the next one leaves; kNever: nobody is held.
  [[nodiscard]] TimeNs next_ns() const { return held_.empty() ? kNever : held_.front().time_ns; }
  // The next one; somebody is held.
  [[nodiscard]] Held take();
  // The client of request `index` gives up at `now_ns`, before its turn. False: it is not held.
  // O(held).
  bool give_up(std::uint64_t index, TimeNs now_ns);
  [[nodiscard]] std::int64_t held_for(std::uint32_t replica) const { return queues_[replica].held; }
  // Between the first request and the last one, of all queues.
  [[nodiscard]] ApiServerUse use() const;

 private:
  struct Queue {
    EntryWork work;
    TimeNs free_at_ns = 0;  // all work so far is done
    TimeNs work_ns = 0;     // all that came
    TimeNs backlog_ns = 0;  // the greatest
    TimeNs first_ns = kNever;
    TimeNs last_ns = 0;
    std::int64_t held = 0;
    std::uint64_t latest_prompt = 0;
    TimeNs latest_entry_ns = 0;
  };
  struct Later {
    bool operator()(const Held& a, const Held& b) const {
      return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.number > b.number;
    }
  };
  static TimeNs entry_of(Queue& queue, const Arrival& arrival, TimeNs now_ns);

  std::vector<Queue> queues_;
  std::vector<Held> held_;  // a heap: the next one to leave is first
  std::uint64_t came_ = 0;
};

}  // namespace headroom
