#pragma once
// RAGPulse (https://github.com/flashserve/RAGPulse, data/; TRACES.md 3.5): 0_trace.jsonl, one JSON
// object a line with timestamp (a text of seconds), input_length, output_length, session_id, and
// hash_ids, an object of lists of chunk ids. A prompt is its chunks in the order sys_prompt,
// passages_ids, history, web_search, user_input, each of a length of its own, and some tokens of a
// template, which stay without identity at its end.
//
// The lengths are in five files that must lie beside the trace, plain or compressed (.gz):
// 1_sys_prompt.jsonl, 2_passages.jsonl, 3_history.jsonl, 4_user_input.jsonl, 5_web_search.jsonl.
// The rows are two halves over the same week, each in order of time.

#include <cstdint>
#include <string>
#include <unordered_map>

#include "workloads/traces/json_line.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_ragpulse(const FileStart& start);

class RagPulseReader final : public TraceReader {
 public:
  explicit RagPulseReader(LineReader& lines);
  [[nodiscard]] bool next(TraceRecord& record) override;

 private:
  void read_lengths(const std::string& path, std::string_view id_key);
  void read_prefix(TraceRecord& record);

  JsonRows rows_;
  std::unordered_map<std::int64_t, std::int32_t> chunk_tokens_;  // by chunk id, of all kinds
};

}  // namespace headroom
