#pragma once
// Recordings of coding agents by TraceLab (https://github.com/uw-syfi/TraceLab, "Normalized Rows"
// of its README and example_sessions/sanitized/round_trace.jsonl, read at commit b889eb71;
// syfi_coding_trace.jsonl.gz of its releases; TRACES.md 3.11). One JSON object per round (one call
// of the model):
//   session_id, model (the class of the row)
//   input_tokens_total             the prompt
//   prefix_tokens                  its part that the provider had in its cache
//   output_tokens, reasoning_output_tokens (the thinking part, where the provider tells)
//   timing_events[]                {event_type, timestamp}: a round is sent at its latest
//                                  user_message or tool_result, else at its first answer (text,
//                                  reasoning, tool_call); the latest of these ends it
//   tools[].tool_wall_latency_ms
// A round is sent so long after the end of the session's round before it as it was then: tools and
// people included (0 where it came before that end). Where either has no events, it is the sum of
// that round's tools, as in TraceLab's own table (tracelab_csv).
// The prompt is prefix_tokens of the session's context so far (prompts and answers) and new tokens;
// fewer than before mean that the context was cut there, or that the provider's cache had lost it.
// Between sessions nothing is known to be shared. Rounds of a session count in the order of the
// file; sessions may interleave. E2E is the end minus the sending: the client's view, not a
// server's. Time to the first token is not recorded.

#include <cstdint>
#include <string>
#include <unordered_map>

#include "workloads/traces/json_line.hpp"
#include "workloads/traces/session_chain.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_tracelab(const FileStart& start);

class TraceLabReader final : public TraceReader {
 public:
  explicit TraceLabReader(LineReader& lines) : rows_(lines) {}
  [[nodiscard]] bool next(TraceRecord& record) override;

 private:
  struct Session {
    TimeNs end_ns = kNoTime;  // of its latest round
    TimeNs tools_ns = 0;      // of its latest round, in sum
    SessionChain chain;
  };
  struct Times {
    TimeNs sent_ns = kNoTime;
    TimeNs end_ns = kNoTime;  // never before it was sent
  };

  [[nodiscard]] Times read_times() const;
  [[nodiscard]] TimeNs read_tools() const;
  void read_prompt(SessionChain& chain, TraceRecord& record) const;

  JsonRows rows_;
  std::unordered_map<std::uint64_t, Session> sessions_;
};

}  // namespace headroom
