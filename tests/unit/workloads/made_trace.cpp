#include "tests/unit/workloads/made_trace.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/random.hpp"

namespace headroom::made_trace {

Trace of(const std::vector<Row>& rows) {
  Trace trace;
  for (const Row& row : rows) {
    trace.rows.push_back({row.time_ns, row.prompt_tokens, row.output_tokens});
    TraceDetail detail;
    detail.session = row.session;
    detail.after_previous_ns = row.after_previous_ns;
    detail.timeless = row.timeless;
    detail.thinking_tokens = row.thinking_tokens;
    detail.output_segment = row.output_segment;
    detail.first_segment = trace.segments.size();
    detail.segment_count = static_cast<std::int32_t>(row.prefix.size());
    trace.details.push_back(detail);
    trace.segments.insert(trace.segments.end(), row.prefix.begin(), row.prefix.end());
  }
  return trace;
}

Trace at(const std::vector<TimeNs>& times) {
  Trace trace;
  for (const TimeNs time_ns : times) {
    const auto number = static_cast<std::int32_t>(trace.rows.size()) + 1;
    trace.rows.push_back({.time_ns = time_ns, .prompt_tokens = number, .output_tokens = 5});
  }
  return trace;
}

Trace random(std::uint64_t seed, std::int64_t rows) {
  RandomStream stream(seed, "made_trace");
  std::vector<Row> made;
  TimeNs time_ns = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    Row row;
    time_ns += stream.uniform_int(0, 3) * 1000;
    row.time_ns = time_ns;
    const std::int64_t session = stream.uniform_int(0, 19);
    if (session < 10) row.session = static_cast<std::uint64_t>(session);
    // Few ids and lengths, so that many chains begin alike and some pieces differ in length alone.
    std::int32_t known = 0;
    const std::int64_t pieces = stream.uniform_int(0, 6);
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const auto id = static_cast<std::uint64_t>(stream.uniform_int(1, 2));
      const auto tokens = static_cast<std::int32_t>(stream.uniform_int(1, 3));
      row.prefix.push_back({.id = id, .tokens = tokens * tokens * tokens});
      known += row.prefix.back().tokens;
    }
    row.prompt_tokens = known + static_cast<std::int32_t>(stream.uniform_int(0, 40));
    row.prompt_tokens = std::max(row.prompt_tokens, 1);
    row.output_tokens = static_cast<std::int32_t>(stream.uniform_int(1, 60));
    row.thinking_tokens = static_cast<std::int32_t>(stream.uniform_int(0, row.output_tokens));
    made.push_back(row);
  }
  return of(made);
}

std::vector<TimeNs> times(const Trace& trace) {
  std::vector<TimeNs> all;
  for (const TraceRow& row : trace.rows) all.push_back(row.time_ns);
  return all;
}

std::vector<std::int32_t> prompts(const Trace& trace) {
  std::vector<std::int32_t> all;
  for (const TraceRow& row : trace.rows) all.push_back(row.prompt_tokens);
  return all;
}

std::vector<std::int32_t> outputs(const Trace& trace) {
  std::vector<std::int32_t> all;
  for (const TraceRow& row : trace.rows) all.push_back(row.output_tokens);
  return all;
}

std::string chain(const Trace& trace, std::size_t row) {
  std::string text;
  for (const PrefixSegment& segment : trace.prefix(row)) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : "|", segment.id, segment.tokens);
  }
  return text;
}

std::string text(const Trace& trace) {
  std::string all;
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    const TraceRow& row = trace.rows[i];
    all += fmt::format("{},{},{}", row.time_ns, row.prompt_tokens, row.output_tokens);
    if (!trace.details.empty()) {
      const TraceDetail& d = trace.details[i];
      all += fmt::format(" {} {} {} {} {}", d.session, d.after_previous_ns, d.timeless,
                         d.thinking_tokens, d.output_segment);
    }
    all += ' ' + chain(trace, i) + '\n';
  }
  return all;
}

std::int64_t common_tokens(std::span<const PrefixSegment> a, std::span<const PrefixSegment> b) {
  std::int64_t common = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i].id == b[i].id; ++i) {
    common += std::min(a[i].tokens, b[i].tokens);
    if (a[i].tokens != b[i].tokens) break;
  }
  return common;
}

Sums sums(const Trace& trace) {
  Sums all;
  for (const TraceRow& row : trace.rows) {
    all.prompt += row.prompt_tokens;
    all.output += row.output_tokens;
  }
  return all;
}

bool is_sound(const Trace& trace) {
  if (!trace.details.empty() && trace.details.size() != trace.rows.size()) return false;
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    const TraceRow& row = trace.rows[i];
    if (row.time_ns < 0 || (i > 0 && row.time_ns < trace.rows[i - 1].time_ns)) return false;
    if (row.prompt_tokens < 1 || row.output_tokens < 1) return false;
    std::int64_t known = 0;
    for (const PrefixSegment& segment : trace.prefix(i)) {
      if (segment.tokens < 1) return false;
      known += segment.tokens;
    }
    if (known > row.prompt_tokens) return false;
    if (!trace.details.empty() && trace.details[i].thinking_tokens > row.output_tokens) {
      return false;
    }
  }
  return true;
}

}  // namespace headroom::made_trace
