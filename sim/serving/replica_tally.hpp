#pragma once
// What has come out of a replica: tokens, and requests that left it. Counts them, and tells the
// sink, the fleet and whoever watches latencies.
//
// Invariant: every token that came out belongs to a request that is here or was settled; at the end
// of a run all are (check_settled).

#include <cstdint>
#include <vector>

#include "sim/kernel/likely.hpp"
#include "sim/kernel/time.hpp"
#include "sim/serving/latency_window.hpp"
#include "sim/serving/metrics_sink.hpp"
#include "sim/serving/replica_load.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

// A request that left the system, for the fleet to account for.
struct Departure {
  std::uint64_t index = 0;
  Outcome outcome = Outcome::unfinished;
  std::int32_t prompt_tokens = 0;
};

class ReplicaTally {
 public:
  // `answers_at_once`: clients have all tokens of an answer when it is complete, and none before.
  ReplicaTally(MetricsSink& sink, bool answers_at_once)
      : sink_(sink), answers_at_once_(answers_at_once) {}

  // Steps have yielded `tokens`.
  void yield(std::int64_t tokens) { tokens_out_ += static_cast<std::uint64_t>(tokens); }
  // `tokens` of these belong to a request that leaves the replica.
  void settle(std::int64_t tokens) { settled_ += static_cast<std::uint64_t>(tokens); }
  // The same of a request that begins anew elsewhere: they are lost.
  void hand_back(std::int64_t tokens) {
    settle(tokens);
    counts_.discarded_tokens += tokens;
    ++counts_.handed_back;
  }
  void crash() { ++counts_.crashes; }

  // A request has left the system; or the run ends, and it is unfinished.
  void depart(const RequestRecord& record) {
    report(record);
    if (mostly(record.outcome != Outcome::unfinished)) {
      departures_.push_back({record.index, record.outcome, record.prompt_tokens});
    }
  }

  // From now on `ttft` is told of every first token and `tpot` of every answer of two tokens or
  // more, as clients see them; nullptr: not of those. They outlive this.
  void tell_latencies(LatencyWindow* ttft, LatencyWindow* tpot) {
    ttft_ = ttft;
    tpot_ = tpot;
  }
  [[nodiscard]] bool tells_first_tokens() const { return rarely(ttft_ != nullptr); }
  // A client has its first token, which is streamed to it.
  void on_first_token(TimeNs latency_ns) {
    if (tells_first_tokens() && !answers_at_once_) ttft_->add(latency_ns);
  }
  // One still waits for it. Only where tells_first_tokens().
  void on_overdue(TimeNs waited_ns) { ttft_->add(waited_ns); }

  [[nodiscard]] std::uint64_t tokens_out() const { return tokens_out_; }
  [[nodiscard]] TokenCount unsettled_tokens() const {
    return static_cast<TokenCount>(tokens_out_ - settled_);
  }
  [[nodiscard]] const ReplicaCounts& counts() const { return counts_; }
  // Requests that left since the fleet cleared the list, in order.
  [[nodiscard]] std::vector<Departure>& departures() { return departures_; }
  void check_settled() const;

 private:
  void report(const RequestRecord& record);
  void tell_answer(const RequestRecord& record);

  MetricsSink& sink_;
  bool answers_at_once_;  // as constructed
  std::vector<Departure> departures_;
  std::uint64_t tokens_out_ = 0;  // yield() writes
  std::uint64_t settled_ = 0;     // settle() writes
  ReplicaCounts counts_;          // hand_back(), crash() and report() write
  // tell_latencies() writes.
  LatencyWindow* ttft_ = nullptr;
  LatencyWindow* tpot_ = nullptr;
};

}  // namespace headroom
