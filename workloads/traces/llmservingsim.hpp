#pragma once
// Workloads of LLMServingSim (https://github.com/casys-kaist/LLMServingSim, workloads/README.md;
// TRACES.md 3.8): one JSON object per line, of two kinds that may be mixed in one file.
//   flat:    input_toks, output_toks, arrival_time_ns, and maybe the token ids input_tok_ids and
//            output_tok_ids;
//   agentic: session_id, arrival_time_ns and sub_requests, an array of calls with input_toks,
//            output_toks, tool_duration_ns and maybe token ids. A call is sent tool_duration_ns of
//            the call before it after the answer to that one; the first one at arrival_time_ns.
// output_toks counts the generated tokens alone. The published arrivals are synthetic.
//
// Token ids become pieces of 16 tokens, the last one with what is left; a piece's identity is the
// hash of its tokens. An answer with all its token ids is one piece; a later call of the session
// that begins with the prompt and the answer of the call before continues with that piece (and is
// cut into blocks of 16 behind it), so that the answer's KV is found again.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/traces/json_line.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_llmservingsim(const FileStart& start);

class LlmServingSimReader final : public TraceReader {
 public:
  explicit LlmServingSimReader(LineReader& lines) : rows_(lines) {}
  [[nodiscard]] bool next(TraceRecord& record) override;

 private:
  void start_session();
  void read_call(TraceRecord& record);
  void read_tokens(const JsonNode& request, TraceRecord& record);

  // What the next call of the session may begin with: prompt and answer of the one before.
  struct Conversation {
    std::vector<std::int64_t> tokens;
    std::vector<PrefixSegment> pieces;
  };

  JsonRows rows_;
  const JsonNode* calls_ = nullptr;  // sub_requests of the row; none in a flat one
  std::size_t next_call_ = 0;
  TimeNs tool_ns_ = 0;  // of the latest call
  std::uint64_t session_ = kNoSession;
  Conversation before_;
};

}  // namespace headroom
