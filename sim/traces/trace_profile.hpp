#pragma once
// What a trace is like, from one pass over its rows: arrivals, lengths, classes, sessions, shared
// prefixes, measured latencies, and what rules for max_tokens would reserve. Memory does not grow
// with the rows of a file in order of time, except by what has an identity: distinct classes,
// sessions, and pieces of prompts.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/kernel/log_histogram.hpp"
#include "sim/traces/trace_arrivals.hpp"
#include "sim/traces/trace_lengths.hpp"
#include "sim/traces/trace_prefix.hpp"
#include "sim/traces/trace_reservations.hpp"
#include "workloads/traces/trace.hpp"
#include "workloads/traces/trace_record.hpp"

namespace headroom {

// A set of rows. Arrivals are those of rows with a time by the common clock of the file.
struct RowsProfile {
  std::int64_t rows = 0;
  ArrivalStats arrivals;
  LengthStats input;
  LengthStats output;
};

struct ClassRows {
  std::string name;
  std::int64_t rows = 0;
};

struct SessionProfile {
  std::int64_t sessions = 0;
  std::int64_t rows = 0;  // that belong to one
  // Rows of a session; the median by linear interpolation, rounded down.
  std::int64_t p50_turns = 0;
  std::int64_t max_turns = 0;
};

// By an endless cache of full blocks of PrefixShare::kBlockTokens, of prompts alone: answers are
// not kept.
struct PrefixProfile {
  std::int64_t rows = 0;           // whose prompt has identities
  std::int64_t prefix_tokens = 0;  // of the prompts, with an identity
  std::int64_t hit_tokens = 0;     // that the cache holds when their row comes
  double hit_share = 0;            // of the tokens of all prompts of the file
};

// Percentiles are off by at most 0.05 % (LogHistogram); mean and maximum are exact.
struct MeasuredProfile {
  std::int64_t rows = 0;  // with a measurement
  double mean_ms = 0;
  double p50_ms = 0;
  double p90_ms = 0;
  double p99_ms = 0;
  double max_ms = 0;
};

struct TraceProfile {
  std::string file;  // name without directories
  std::string format;
  TraceClock clock = TraceClock::absolute;
  std::int64_t backward_steps = 0;
  bool in_memory = false;  // sorted there, or read from a pipe
  std::string warning;     // of the file as a whole; empty: none

  RowsProfile all;
  ZeroTokenRows zero;
  RowsProfile left;  // without the rows with zero tokens: what the policy `drop` leaves

  std::int64_t thinking_tokens = 0;   // of the output
  std::int64_t closed_loop_rows = 0;  // sent some time after the answer before
  std::int64_t timeless_rows = 0;     // of these, without a time in a file that has times
  std::vector<ClassRows> classes;     // by name, "" = without one; empty when no row has one
  SessionProfile sessions;
  SessionTurns session_turns;  // where the format leaves open what they state
  PrefixProfile prefix;
  std::optional<MeasuredProfile> ttft;  // none: no row has one
  std::optional<MeasuredProfile> e2el;
  Reservations reservations;  // of the rows that are left
};

// The meters behind a profile, for rows in order of time.
class TraceProfiler {
 public:
  TraceProfiler(TraceClock clock, const ReservationOptions& options);  // ConfigError

  void add(const TraceRecord& record) {
    const bool has_time = is_absolute_ && record.time_ns != kNoTime;
    if (has_time) arrivals_.add(record.time_ns);
    if (record.prompt_tokens == 0 || record.output_tokens == 0) {
      zero_.count(record);
      zero_input_.add(record.prompt_tokens);
      zero_output_.add(record.output_tokens);
    } else {
      if (has_time) arrivals_left_.add(record.time_ns);
      input_.add(record.prompt_tokens);
      output_.add(record.output_tokens);
      reservations_.add(record.prompt_tokens, record.output_tokens);
    }
    if (has_more(record)) add_more(record);
  }
  [[nodiscard]] TraceProfile finish();

 private:
  class Latency {
   public:
    void add(TimeNs ns);
    [[nodiscard]] std::optional<MeasuredProfile> profile() const;

   private:
    LogHistogram histogram_;
    Int128 sum_ns_ = 0;
    TimeNs max_ns_ = 0;
  };

  // Anything but time and tokens.
  [[nodiscard]] bool has_more(const TraceRecord& record) const {
    return record.session != kNoSession || !record.class_name.empty() || !record.prefix.empty() ||
           record.after_previous_ns >= 0 || record.thinking_tokens != 0 ||
           record.measured_ttft_ns >= 0 || record.measured_e2el_ns >= 0 ||
           (is_absolute_ && record.time_ns == kNoTime);
  }
  void add_more(const TraceRecord& record);
  void add_class(std::string_view name);
  void fill_rows(TraceProfile& profile);
  [[nodiscard]] std::vector<ClassRows> classes(std::int64_t rows) const;
  [[nodiscard]] SessionProfile sessions() const;

  TraceClock clock_;
  bool is_absolute_;
  ArrivalMeter arrivals_;
  ArrivalMeter arrivals_left_;
  ZeroTokenRows zero_;
  TokenCounts input_;  // of rows without zero tokens
  TokenCounts output_;
  TokenCounts zero_input_;  // of the others
  TokenCounts zero_output_;
  ReservationMeter reservations_;

  using Classes = std::map<std::string, std::int64_t, std::less<>>;
  Classes classes_;
  Classes::iterator latest_class_ = classes_.end();
  std::unordered_map<std::uint64_t, std::int64_t> turns_;  // by session
  PrefixShare share_;
  PrefixProfile prefix_;
  std::int64_t thinking_tokens_ = 0;
  std::int64_t closed_loop_rows_ = 0;
  std::int64_t timeless_rows_ = 0;
  Latency ttft_;
  Latency e2el_;
};

// DataError: as read_trace, no row. ConfigError: the options.
[[nodiscard]] TraceProfile profile_trace(const std::string& path,
                                         const ReservationOptions& options = {},
                                         SessionInput input = SessionInput::detect,
                                         const std::string& columns = {});

}  // namespace headroom
