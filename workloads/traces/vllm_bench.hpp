#pragma once
// Results of `vllm bench serve --save-result --save-detailed`
// (https://github.com/vllm-project/vllm, vllm/benchmarks/serve.py, read at commit 009e6d4a): one
// JSON object with a list per quantity, one element per request in the order of sending:
//   input_lens, output_lens   tokens; needed
//   start_times               seconds of a clock of the client's process, when a request was sent;
//                             without them rows have no time
//   ttfts, itls               seconds: to the first token, and between chunks of the answer
//   errors                    texts; not empty: the request failed
// SGLang's benchmark (python -m sglang.bench_serving --output-file --output-details) writes the
// same lists without start_times, and its request_rate is Infinity by default. What was measured is
// read as TTFT and, with the sum of a request's itls, E2E latency. A failed request is a row with
// zero output tokens, as vLLM counts it, and has no latencies. start_times are after the client's
// own queue (--max-concurrency), whose times are not used; nor are the texts. `--append-result`
// puts several runs into one file, one per line; their clocks have nothing in common, so such a
// file is refused and has to be split.

#include <cstddef>
#include <string_view>
#include <vector>

#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_vllm_bench(const FileStart& start);

class VllmBenchReader final : public TraceReader {
 public:
  explicit VllmBenchReader(LineReader& lines);  // reads the whole file; keeps the numbers
  [[nodiscard]] bool next(TraceRecord& record) override;
  [[nodiscard]] TraceClock clock() const override;

 private:
  struct Row {
    TimeNs start_ns = kNoTime;
    TimeNs ttft_ns = -1;
    TimeNs e2el_ns = -1;
    std::int32_t prompt_tokens = 0;
    std::int32_t output_tokens = 0;
  };
  class Columns;

  bool has_times_ = false;
  std::vector<Row> rows_;
  std::size_t at_ = 0;
};

}  // namespace headroom
