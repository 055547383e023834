#pragma once
// Traces of the APEX+ simulator (https://github.com/microsoft/apex_plus, traces/*/*.jsonl;
// TRACES.md 3.12): one JSON object a line with ContextTokens, GeneratedTokens and StartTimeOffset
// (nanoseconds from the start of the recording). SynthesizedBody (the prompt's text), RequestID and
// TotalTokens are not used. The arrivals are synthetic.

#include "workloads/traces/json_line.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_apex(const FileStart& start);

class ApexReader final : public TraceReader {
 public:
  explicit ApexReader(LineReader& lines) : rows_(lines) {}
  [[nodiscard]] bool next(TraceRecord& record) override;

 private:
  JsonRows rows_;
};

}  // namespace headroom
