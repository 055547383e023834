#pragma once
// Prompts for `vllm bench serve --dataset-name custom` (https://github.com/vllm-project/vllm,
// CustomDataset in vllm/benchmarks/datasets): one JSON object a line, {"prompt": text,
// "output_tokens": tokens}. Prompts are estimated as those of ShareGPT are; there are no times. A
// row without output_tokens, for which vLLM takes --custom-output-len, is refused: nothing tells
// how long its answer is.

#include "workloads/traces/json_line.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_vllm_custom(const FileStart& start);

class VllmCustomReader final : public TraceReader {
 public:
  explicit VllmCustomReader(LineReader& lines) : rows_(lines) {}
  [[nodiscard]] bool next(TraceRecord& record) override;
  [[nodiscard]] TraceClock clock() const override { return TraceClock::none; }

 private:
  JsonRows rows_;
};

}  // namespace headroom
