#pragma once
// One row of a trace, as its file states it.

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/kernel/time.hpp"
#include "sim/serving/prefix.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

inline constexpr TimeNs kNoTime = INT64_MIN;  // the row states none
// The latest time and the longest gap that a trace may state: a run may continue for some years
// after its last arrival before the clock ends at 2^63 ns.
inline constexpr TimeNs kLatestTraceNs = 9'000'000'000'000'000'000;

struct TraceRecord {
  TimeNs time_ns = kNoTime;        // arrival by the clock of the format (TraceClock)
  std::int32_t prompt_tokens = 0;  // >= 0; 0 also means a missing count
  std::int32_t output_tokens = 0;
  std::int32_t thinking_tokens = 0;  // of output_tokens, where the file tells them apart
  std::int32_t max_tokens = 0;       // declared by the client; 0: the file does not say
  std::int32_t priority = 0;         // smaller is served first
  std::string_view class_name = {};  // valid until the next row; empty: none
  std::uint64_t session = kNoSession;
  // With a session: the request is sent so long after the answer to the session's previous one.
  // Negative: the file does not say; then the row has a time of its own.
  TimeNs after_previous_ns = -1;
  // Identities of the prompt from its first token, and of the answer in later prompts (0: none).
  std::vector<PrefixSegment> prefix = {};
  std::uint64_t output_segment = 0;
  // The client leaves so long after it sent the request, unless it has the whole answer by then;
  // negative: it waits.
  TimeNs gives_up_ns = -1;
  // What was measured when the trace was recorded; negative: the file does not say.
  TimeNs measured_ttft_ns = -1;
  TimeNs measured_e2el_ns = -1;
};

// What the rows of a session's later turns state, where a format leaves it open.
enum class SessionInput : std::uint8_t {
  detect,  // whichever the rows speak for
  whole,   // the whole prompt
  added    // what the turn adds to the turns and answers before it
};

// Later turns by what their rows were taken to state.
struct SessionTurns {
  std::int64_t whole = 0;
  std::int64_t added = 0;
};

// What `time_ns` counts from.
enum class TraceClock : std::uint8_t {
  absolute,     // one clock for all rows; only differences count
  per_session,  // the start of the row's session: sessions need an arrival process
  none          // rows have no time: they need an arrival process
};

}  // namespace headroom
