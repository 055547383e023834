#pragma once
// Workload files of AIBrix (https://github.com/vllm-project/aibrix, benchmarks/; TRACES.md 3.12):
// one JSON object a line with timestamp (ms) and requests, an array of the requests sent at that
// time, which may be empty. Each has its lengths ("Prompt Length" and "Output Length", or
// prompt_length and output_length in files of newer generators; null where the generator did not
// know it: 0), and may have a session_id. The prompt's text is not used: how many tokens two texts
// have in common takes a tokenizer. The arrivals are synthetic.

#include <cstddef>

#include "workloads/traces/json_line.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_aibrix(const FileStart& start);

class AibrixReader final : public TraceReader {
 public:
  explicit AibrixReader(LineReader& lines) : rows_(lines) {}
  [[nodiscard]] bool next(TraceRecord& record) override;

 private:
  [[nodiscard]] bool next_row();
  void read_request(const JsonNode& request, TraceRecord& record);

  JsonRows rows_;
  TimeNs time_ns_ = 0;                  // of the row
  const JsonNode* requests_ = nullptr;  // of the row; none before the first one
  std::size_t next_request_ = 0;
};

}  // namespace headroom
