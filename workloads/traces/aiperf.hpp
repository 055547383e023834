#pragma once
// Per-request records of AIPerf (https://github.com/ai-dynamo/aiperf, profile_export.jsonl of
// `aiperf profile`; docs/tutorials/working-with-profile-exports.md, read at commit 13992dbd, and
// src/aiperf/common/models/record_export_models.py at 745695dd). One JSON object per line:
//   metadata: request_start_ns    since 1970; needed
//             request_end_ns      of failed requests, too
//             x_correlation_id    the session: one instance of a conversation (else
//             conversation_id) turn_index          from 0; a later turn is sent so long after the
//             end of the one
//                                 before as it was then
//             benchmark_phase     the class of the row, such as "profiling"
//             was_cancelled
//             before October 2025: timestamp_ns in place of request_start_ns, no end (it is the
//             start and the request_latency), credit_phase for benchmark_phase, the error in here
//   metrics:  {name: {"value": .., "unit": ..}}: input_sequence_length (of failed requests
//             error_isl), output_sequence_length (else output_token_count), reasoning_token_count,
//             time_to_first_token (before October 2025: ttft), request_latency
//   error:    null, or what went wrong
// Records stand in order of their ends. Failed and cancelled requests are rows with zero output
// tokens and no latencies. Other metrics are not read.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "workloads/traces/json_line.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace headroom {

[[nodiscard]] bool is_aiperf(const FileStart& start);

class AiPerfReader final : public TraceReader {
 public:
  explicit AiPerfReader(LineReader& lines) : rows_(lines) {}
  [[nodiscard]] bool next(TraceRecord& record) override;

 private:
  void read_times(const JsonNode& metadata, TimeNs latency_ns, TraceRecord& record);
  void read_metrics(bool failed, TraceRecord& record) const;
  [[nodiscard]] const JsonNode& need_object(std::string_view key) const;
  // Nothing when the metric is not there.
  [[nodiscard]] std::int32_t tokens(const JsonNode& metrics, std::string_view name) const;
  [[nodiscard]] TimeNs latency(const JsonNode& metrics, std::string_view name) const;

  JsonRows rows_;
  std::string class_name_;
  std::unordered_map<std::uint64_t, TimeNs> ends_;  // of the latest request by session
};

}  // namespace headroom
