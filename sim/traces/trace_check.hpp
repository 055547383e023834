#pragma once
// What is odd about the rows of a trace file, with the place of the first row of each kind: one
// pass in the order of the file, in constant memory.

#include <cstdint>
#include <string>

#include "workloads/traces/trace_record.hpp"

namespace headroom {

struct OddRows {
  std::int64_t rows = 0;
  std::int64_t first_row = 0;   // from 1; 0: there is none
  std::int64_t first_line = 0;  // from 1; 0: there is none, or the format has no line for a row
};

struct TraceCheck {
  std::string file;  // name without directories
  std::string format;
  TraceClock clock = TraceClock::absolute;
  std::int64_t rows = 0;
  std::int64_t usable_rows = 0;  // without zero tokens
  // Against the row before with a time, in files with one clock for all rows.
  OddRows backward_steps;  // earlier
  OddRows ties;            // the same time
  // Failed requests stand so in public traces.
  OddRows zero_prompt;  // only the prompt has no tokens
  OddRows zero_output;  // only the answer
  OddRows zero_both;
  SessionTurns session_turns;  // where the format leaves open what they state
  std::string warning;         // of the file as a whole; empty: none
};

// DataError: a malformed file or row, or no usable row.
[[nodiscard]] TraceCheck check_trace(const std::string& path,
                                     SessionInput input = SessionInput::detect,
                                     const std::string& columns = {});

}  // namespace headroom
