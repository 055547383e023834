#include "workloads/transforms/caps.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace headroom {
namespace {

std::int64_t cut(std::int32_t& tokens, std::int64_t cap) {
  const std::int64_t excess = std::max<std::int64_t>(tokens - cap, 0);
  tokens -= static_cast<std::int32_t>(excess);
  return excess;
}

// Chains no longer than their prompts. Written anew: rows may share the memory of their chains.
void cut_chains(Trace& trace) {
  std::vector<PrefixSegment> segments;
  segments.reserve(trace.segments.size());
  for (std::size_t i = 0; i < trace.details.size(); ++i) {
    const std::size_t first = segments.size();
    std::int32_t left = trace.rows[i].prompt_tokens;
    for (const PrefixSegment& segment : trace.prefix(i)) {
      if (left == 0) break;
      segments.push_back({.id = segment.id, .tokens = std::min(segment.tokens, left)});
      left -= segments.back().tokens;
    }
    trace.details[i].first_segment = first;
    trace.details[i].segment_count = static_cast<std::int32_t>(segments.size() - first);
  }
  trace.segments = std::move(segments);
}

}  // namespace

CapReport cap_lengths(Trace& trace, std::optional<std::int64_t> max_prompt_tokens,
                      std::optional<std::int64_t> max_output_tokens) {
  CapReport report;
  for (TraceRow& row : trace.rows) {
    const std::int64_t prompt = cut(row.prompt_tokens, max_prompt_tokens.value_or(INT32_MAX));
    const std::int64_t output = cut(row.output_tokens, max_output_tokens.value_or(INT32_MAX));
    report.prompts_cut += prompt > 0 ? 1 : 0;
    report.prompt_tokens_cut += prompt;
    report.outputs_cut += output > 0 ? 1 : 0;
    report.output_tokens_cut += output;
  }
  if (report.prompts_cut > 0) cut_chains(trace);
  if (report.outputs_cut > 0) {
    for (std::size_t i = 0; i < trace.details.size(); ++i) {
      std::int32_t& thinking = trace.details[i].thinking_tokens;
      thinking = std::min(thinking, trace.rows[i].output_tokens);
    }
  }
  return report;
}

}  // namespace headroom
