#pragma once
// Reports of GuideLLM (https://github.com/vllm-project/guidellm, `guidellm benchmark` with
// benchmarks.json; src/guidellm/schemas/request_stats.py and benchmark/schemas/generative, read at
// commits 06cef291 and 03820eba, and the older layout of neuralmagic/guidellm at 00a210d0). One
// JSON document: benchmarks[].requests.{successful,incomplete,errored}[], each request with
//   prompt_tokens, output_tokens   null: zero
//   request_start_time             seconds since 1970; older: start_time
//   request_latency                seconds, to the end of the answer
//   time_to_first_token_ms
//   info.conversation_id           the session; older reports have none. A later turn is sent so
//                                  long after the end of the one before as it was then.
// Requests stand in lists by how they ended, so rows come in order of time instead. Incomplete
// requests (cut off at the end of a benchmark) and errored ones are rows with zero output tokens
// and no latencies: how long their answers would have been is not known. A report holds all
// benchmarks of a sweep, one after the other on one clock; with more than one, the class of a row
// is the number of its benchmark and the strategy, as "2:constant". Texts are not read.
// A report that kept only a sample of its requests (--sample-requests) is no trace and is refused.

#include <cstddef>
#include <string>
#include <vector>

#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_guidellm(const FileStart& start);

class GuideLlmReader final : public TraceReader {
 public:
  explicit GuideLlmReader(LineReader& lines);  // reads the whole file; keeps the numbers
  [[nodiscard]] bool next(TraceRecord& record) override;

 private:
  struct Row {
    TimeNs start_ns = kNoTime;
    TimeNs ttft_ns = -1;
    TimeNs e2el_ns = -1;
    TimeNs after_previous_ns = -1;
    std::uint64_t session = kNoSession;
    std::int32_t prompt_tokens = 0;
    std::int32_t output_tokens = 0;
    std::uint32_t benchmark = 0;
  };
  class Report;

  void find_gaps();

  std::vector<Row> rows_;
  std::vector<std::string> classes_;  // by benchmark; none when there is only one
  std::size_t at_ = 0;
};

}  // namespace headroom
