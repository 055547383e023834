#pragma once
// Replays a recorded trace. Open loop: every row at its own time, whatever becomes of the others.
// Closed loop: a turn of a session waits for the answer to the previous turn (the session's
// previous row in the trace), as its user or agent does:
// - a row with after_previous_ns is sent so long after that answer, whatever its own time says;
// - another row is sent at its own time, in a trace that states such gaps: the file says that it
//   did not wait (Weka's subagents run side by side);
// - in a trace that states none (Bailian, BurstGPT) it is sent at its own time or with that answer,
//   whichever is later. Its times are arrivals, so the gap between two of them holds the answer
//   that was given then; to wait it again behind the answer of this run would count that twice.
// When a request is rejected, cancelled or lost, its client goes away: the rows of its session
// behind it that were not sent are dropped. The first row of a session, and one whose earlier turns
// are not in the trace, is sent at its own time.
//
// A trace that has no clock needs an arrival process first (trace_transform.hpp).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/serving/workload_source.hpp"
#include "workloads/closed_turns.hpp"
#include "workloads/max_tokens.hpp"
#include "workloads/traces/trace.hpp"

namespace headroom {

enum class SessionReplay : std::uint8_t { open, closed };

struct TraceSourceOptions {
  std::optional<std::int64_t> num_requests = {};  // >= 0: only the first rows; absent = all
  // What a row declares itself is kept under the rule engine_default, under others on demand
  // (MaxTokensOptions::keep_declared).
  MaxTokensOptions max_tokens = {};
  std::int32_t class_id = 0;  // of the trace's first class; its others follow. All within 0 .. 254
  // Absent: closed where a row of the trace has no time of its own (TraceDetail::timeless), else
  // open. Open is refused where there is such a row.
  std::optional<SessionReplay> sessions = {};
};

class TraceSource final : public WorkloadSource {
 public:
  // Runs may share one trace, in several threads.
  TraceSource(std::shared_ptr<const Trace> trace,
              const TraceSourceOptions& options);  // ConfigError

  // Open loop: O(1). Closed loop: O(log of the turns that wait for their time), amortised.
  [[nodiscard]] TimeNs next_time() override;
  [[nodiscard]] Arrival take() override;
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override;

  [[nodiscard]] SessionReplay sessions() const;
  [[nodiscard]] std::int64_t outputs_cut() const { return max_tokens_.outputs_cut(); }
  [[nodiscard]] std::int64_t turns_dropped() const;
  // Rows neither sent nor dropped so far.
  [[nodiscard]] std::int64_t rows_left() const;

 private:
  [[nodiscard]] Arrival arrival_of(std::size_t row, TimeNs time_ns);

  std::shared_ptr<const Trace> trace_;
  MaxTokens max_tokens_;
  std::int32_t class_id_;
  std::size_t taken_ = 0;
  std::size_t end_ = 0;
  std::optional<ClosedTurns> turns_;          // closed loop
  std::vector<std::uint32_t> rows_by_index_;  // closed loop: what was taken, in order
};

}  // namespace headroom
