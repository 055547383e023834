#pragma once
// Changes a trace after it was read: other times, other rows, other lengths, other prompts. The
// window, the limit and what becomes of zero tokens are options of reading (TraceOptions). The
// trace stays one: in order of time, everything that is not named here as the file has it.
//
// In this order, each step on what the one before left:
//   1 arrivals        times for a trace that has none
//   2 spread_ties     rows of equal time apart
//   3 keep            a random share of the rows
//   4 token factors   another tokenizer; thinking in front of answers
//   5 documents       in front of prompts
//   6 caps            of prompts and outputs
//   7 session_prefix  identities of what sessions repeat
//   8 rate_scale      faster or slower
//   9 copies          several at once
// What clients declare as max_tokens is theirs and stays: TraceSource cuts longer outputs to it.
// Every random choice has a stream of its own, and rows keep their draws: a step that is switched
// on, or keeps fewer rows, changes nothing that another step draws for the others.

#include <cstdint>
#include <optional>

#include "sim/kernel/time.hpp"
#include "workloads/arrivals.hpp"
#include "workloads/length_options.hpp"
#include "workloads/traces/trace.hpp"
#include "workloads/transforms/arrival_times.hpp"
#include "workloads/transforms/caps.hpp"
#include "workloads/transforms/documents.hpp"
#include "workloads/transforms/session_history.hpp"
#include "workloads/transforms/superpose.hpp"
#include "workloads/transforms/thinning.hpp"
#include "workloads/transforms/ties.hpp"
#include "workloads/transforms/token_factors.hpp"

namespace headroom {

enum class SessionPrefix : std::uint8_t {
  none,    // as the file says
  history  // a turn repeats the turns before it, where the file says nothing
};

struct TransformOptions {
  // Needed by a trace without a clock of its own (TraceClock), refused with any other. Of its rows
  // or of the starts of its sessions: transforms/arrival_times.hpp.
  std::optional<ArrivalOptions> arrivals = {};
  SpreadTies spread_ties = SpreadTies::none;
  double keep = 1.0;  // share of rows, above 0, at most 1; sessions stay or go whole
  // 0.001 .. 1000, taken to the nearest billionth: of prompts and their segments, of answers, and
  // of the part of outputs that is thinking. Results are rounded to the nearest token, halves up.
  double input_tokens_factor = 1.0;
  double output_tokens_factor = 1.0;
  double thinking_tokens_factor = 1.0;
  // Tokens of thinking in front of every answer, behind the factors; stream "lengths/thinking".
  std::optional<LengthOptions> added_thinking_tokens = {};
  DocumentOptions documents = {};
  std::optional<std::int64_t> max_prompt_tokens = {};  // 1 .. 2^31 - 1
  std::optional<std::int64_t> max_output_tokens = {};  // 1 .. 2^31 - 1
  SessionPrefix session_prefix = SessionPrefix::none;
  // Times are divided by it, 0.001 .. 1000000, to the nearest ns; taken to the nearest billionth.
  // The gaps after answers (after_previous_ns) are people's and tools', and stay.
  double rate_scale = 1.0;
  std::int64_t copies = 1;                     // 1 .. 2^32 - 2 rows in all
  std::optional<TimeNs> copies_shift_ns = {};  // >= 0; absent: the cycle by the number of copies
  bool copies_share_prefixes = false;
};

// What was done; each step's part stays zero where the step did nothing.
struct TransformReport {
  std::int64_t rows_before = 0;
  std::int64_t rows_after = 0;
  GivenArrivals arrivals;
  TieReport ties;
  ThinningReport thinning;
  TokenReport tokens;
  DocumentReport documents;
  CapReport caps;
  HistoryReport history;
  CopyReport copies;
};

// ConfigError: an option out of its range; then the trace is as it was. Also a count or a time that
// an option makes too large; then it is of no more use.
TransformReport transform(Trace& trace, const TransformOptions& options, std::uint64_t seed);

}  // namespace headroom
