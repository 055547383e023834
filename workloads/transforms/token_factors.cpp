#include "workloads/transforms/token_factors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/serving/scaled_tokens.hpp"
#include "workloads/transforms/row_order.hpp"

namespace headroom {
namespace {

std::int32_t checked_tokens(Int128 tokens, std::int32_t before, std::string_view what) {
  if (tokens <= INT32_MAX) return static_cast<std::int32_t>(std::max<Int128>(tokens, 1));
  throw ConfigError(fmt::format("trace: {}: {} tokens become more than {}, the longest allowed",
                                what, before, INT32_MAX));
}

}  // namespace

void scale_prompts(Trace& trace, const DecimalFactor& factor, TokenReport& report) {
  if (factor.is_one()) return;
  std::vector<PrefixSegment> segments;
  segments.reserve(trace.segments.size());
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    std::int32_t& prompt = trace.rows[i].prompt_tokens;
    const std::int32_t scaled =
        checked_tokens(factor.product(prompt), prompt, "input_tokens_factor");
    report.prompt_tokens_change += std::int64_t{scaled} - prompt;
    prompt = scaled;
    if (trace.details.empty()) continue;
    const std::size_t first = segments.size();
    ScaledPrefix chain(factor, segments);
    for (const PrefixSegment& segment : trace.prefix(i)) chain.add(segment);
    report.segments_merged += chain.merged();
    TraceDetail& detail = trace.details[i];
    detail.first_segment = first;
    detail.segment_count = static_cast<std::int32_t>(segments.size() - first);
    if (detail.output_segment != 0) detail.output_segment = chain.id_behind(detail.output_segment);
  }
  trace.segments = std::move(segments);
}

void scale_outputs(Trace& trace, const DecimalFactor& answer, const DecimalFactor& thinking,
                   TokenReport& report) {
  if (answer.is_one() && thinking.is_one()) return;
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    std::int32_t& output = trace.rows[i].output_tokens;
    const std::int32_t thought = trace.details.empty() ? 0 : trace.details[i].thinking_tokens;
    HEADROOM_CHECK(thought >= 0 && thought <= output, "thinking is part of the output");
    const std::int32_t scaled =
        checked_tokens(scaled_output(output, thought, answer, thinking), output,
                       "output_tokens_factor and thinking_tokens_factor");
    report.output_tokens_change += std::int64_t{scaled} - output;
    output = scaled;
    if (thought == 0) continue;
    trace.details[i].thinking_tokens = static_cast<std::int32_t>(thinking.product(thought));
  }
}

void add_thinking(Trace& trace, const std::vector<std::int32_t>& added, TokenReport& report) {
  HEADROOM_CHECK(added.size() == trace.rows.size(), "one count per row");
  need_details(trace);
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    std::int32_t& output = trace.rows[i].output_tokens;
    output =
        checked_tokens(static_cast<Int128>(output) + added[i], output, "added_thinking_tokens");
    report.thinking_tokens_added += added[i];
    TraceDetail& detail = trace.details[i];
    detail.thinking_tokens += added[i];
    if (added[i] == 0 || detail.output_segment == 0) continue;
    detail.output_segment = 0;
    ++report.answers_hidden;
  }
}

}  // namespace headroom
