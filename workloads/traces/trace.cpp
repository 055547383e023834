#include "workloads/traces/trace.hpp"

#include <algorithm>
#include <utility>

#include "workloads/traces/line_reader.hpp"

namespace headroom {

std::string Trace::sha256() const {
  if (!pipe_sha256.empty()) return pipe_sha256;
  return file_sha256(path, file_bytes, modified_ns);
}

bool TraceBuilder::add(TimeNs time_ns, std::int32_t prompt_tokens, std::int32_t output_tokens) {
  const TraceRow row{
      .time_ns = time_ns, .prompt_tokens = prompt_tokens, .output_tokens = output_tokens};
  const bool has_zero = prompt_tokens == 0 || output_tokens == 0;
  if (has_zero && zero_tokens_ == ZeroTokens::error) return false;
  ++trace_.rows_read;
  trace_.backward_steps += time_ns < previous_ns_ ? 1 : 0;
  previous_ns_ = time_ns;
  earliest_ns_ = std::min(earliest_ns_, time_ns);
  if (has_zero) {
    add_zero(row);
  } else {
    trace_.rows.push_back(row);
  }
  return true;
}

void TraceBuilder::add_zero(TraceRow row) {
  const bool clamps = zero_tokens_ == ZeroTokens::clamp;
  ZeroTokenRows& count = clamps ? trace_.rows_clamped : trace_.rows_dropped;
  if (row.prompt_tokens != 0) {
    ++count.output_only;
  } else if (row.output_tokens != 0) {
    ++count.prompt_only;
  } else {
    ++count.both;
  }
  if (!clamps) return;
  row.prompt_tokens = std::max(row.prompt_tokens, 1);
  row.output_tokens = std::max(row.output_tokens, 1);
  trace_.rows.push_back(row);
}

Trace TraceBuilder::finish() {
  if (trace_.rows_read != 0) trace_.offset_ns = earliest_ns_;
  for (TraceRow& row : trace_.rows) row.time_ns -= trace_.offset_ns;
  if (trace_.backward_steps != 0) {
    std::stable_sort(trace_.rows.begin(), trace_.rows.end(),
                     [](const TraceRow& a, const TraceRow& b) { return a.time_ns < b.time_ns; });
  }
  return std::move(trace_);
}

}  // namespace headroom
