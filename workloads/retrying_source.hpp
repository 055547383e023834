#pragma once
// Clients that retry failed requests: another workload plus further attempts at its requests.
//
// An attempt is a request of the run like any other: it has an index, an arrival time and an
// outcome of its own. Everything else is the same: tokens, class, priority, session, prefix. Its
// client waits as long as it did the first time, counted from the new arrival, and the answer would
// be the same.
//
// Time. The delay begins when the previous attempt left the system. At one time, requests of the
// inner workload come before further attempts, and those in the order in which the attempts before
// them left.
//
// The inner workload learns of a request when its last attempt is over, with that attempt's
// outcome: a session goes on behind the answer, whichever attempt brought it, and the memory of a
// prefix stays valid until then. Where the inner workload ends (a duration, a number of requests),
// it sends nothing new; clients that try again go on.
//
// What is retried is decided by the outcome alone. `rejected` covers requests that are too long for
// an engine, which fail every time, and those turned away because it has too many: hence it is not
// retried unless asked for.
//
// Draws. With jitter, the delay before attempt k + 1 of the inner workload's request n is draw k of
// the n-th stream of the family "retries": it depends on no other request, and neither on what
// happens in the system where n does not (open loops).
//
// Memory: requests in the system and those to be sent again. Time: O(log requests that wait to be
// sent again) a request.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "sim/serving/workload_source.hpp"
#include "workloads/counter_stream.hpp"

namespace headroom {

enum class RetryBackoff : std::uint8_t {
  constant,
  exponential  // the delay doubles with each attempt
};

struct RetryOptions {
  std::int64_t max_attempts = 1;  // >= 1, the first one included
  TimeNs delay_ns = 0;            // >= 0; behind the first attempt
  RetryBackoff backoff = RetryBackoff::constant;
  // 0 .. 1: share of a delay that is random. A delay d becomes uniform in ((1 - jitter) d, d]; 1 is
  // the "full jitter" and 0.5 the "equal jitter" of the AWS SDKs.
  double jitter = 0.0;
  bool on_lost_to_oom = true;  // or to a fault: the engine died
  bool on_rejected = false;
  bool on_cancelled = true;  // the client's own time-out (Arrival::deadline_ns)
};

struct RetryTotals {
  std::int64_t requests = 0;  // of the inner workload: first attempts
  // Further attempts, by why the one before failed.
  std::int64_t after_loss = 0;
  std::int64_t after_rejection = 0;
  std::int64_t after_cancellation = 0;
  std::int64_t given_up = 0;  // requests whose last allowed attempt failed for such a reason, too

  [[nodiscard]] std::int64_t sent_again() const {
    return after_loss + after_rejection + after_cancellation;
  }
};

class RetryingSource final : public WorkloadSource {
 public:
  RetryingSource(std::unique_ptr<WorkloadSource> inner, const RetryOptions& options,
                 std::uint64_t seed);  // ConfigError

  [[nodiscard]] TimeNs next_time() override;
  [[nodiscard]] Arrival take() override;
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override;

  [[nodiscard]] const RetryTotals& totals() const { return totals_; }
  // Requests that the inner workload does not know to be over.
  [[nodiscard]] std::size_t open_requests() const { return requests_.size() - free_.size(); }

 private:
  using Slot = std::uint32_t;

  struct Request {
    std::uint64_t index = 0;  // in the inner workload
    Arrival arrival;          // of the latest attempt
    std::int64_t attempts = 0;
    TimeNs delay_ns = 0;  // behind the latest attempt, before jitter
    Outcome failure = Outcome::unfinished;
  };

  // An attempt to come.
  struct Waiting {
    TimeNs time_ns = 0;
    std::uint64_t order = 0;  // of the failures
    Slot slot = 0;
    friend constexpr auto operator<=>(const Waiting&, const Waiting&) = default;
  };

  [[nodiscard]] Slot take_new();
  [[nodiscard]] Slot take_again();
  [[nodiscard]] bool retries(Outcome outcome) const;
  void count_again(Outcome failure);
  [[nodiscard]] TimeNs delay(const Request& request) const;
  [[nodiscard]] Slot new_slot();

  std::unique_ptr<WorkloadSource> inner_;
  RetryOptions options_;
  CounterStream streams_;
  std::vector<Request> requests_;  // by slot
  std::vector<Slot> free_;
  std::unordered_map<std::uint64_t, Slot> in_flight_;  // by index in the run; never iterated
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
  std::uint64_t taken_ = 0;     // attempts in all
  std::uint64_t failures_ = 0;  // that are retried
  RetryTotals totals_;
};

}  // namespace headroom
