#include "workloads/traces/headroom_csv_writer.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/serving/request.hpp"

namespace headroom {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 16;

std::int64_t tokens_of(const std::vector<PrefixSegment>& segments) {
  std::int64_t tokens = 0;
  for (const PrefixSegment& segment : segments) tokens += segment.tokens;
  return tokens;
}

}  // namespace

void TraceCsvColumns::include(const TraceRecord& record) {
  thinking_tokens = thinking_tokens || record.thinking_tokens != 0;
  max_tokens = max_tokens || record.max_tokens != 0;
  priority = priority || record.priority != 0;
  class_name = class_name || !record.class_name.empty();
  session = session || record.session != kNoSession;
  after_previous = after_previous || record.after_previous_ns >= 0;
  prefix = prefix || !record.prefix.empty();
  output_segment = output_segment || record.output_segment != 0;
  gives_up = gives_up || record.gives_up_ns >= 0;
  measured_ttft = measured_ttft || record.measured_ttft_ns >= 0;
  measured_e2el = measured_e2el || record.measured_e2el_ns >= 0;
}

TraceCsvWriter::TraceCsvWriter(Sink sink, const TraceCsvColumns& columns)
    : sink_(std::move(sink)), columns_(columns) {
  buffer_.reserve(2 * kPieceBytes);
  write_header();
}

void TraceCsvWriter::write_header() {
  buffer_ += columns_.clock == TraceClock::per_session ? "session_time_ns" : "arrival_ns";
  buffer_ += ",prompt_tokens,output_tokens";
  const std::array<std::pair<bool, std::string_view>, 11> optional = {{
      {columns_.thinking_tokens, ",thinking_tokens"},
      {columns_.max_tokens, ",max_tokens"},
      {columns_.priority, ",priority"},
      {columns_.class_name, ",class"},
      {columns_.session, ",session"},
      {columns_.after_previous, ",after_previous_ns"},
      {columns_.prefix, ",prefix"},
      {columns_.output_segment, ",output_segment"},
      {columns_.gives_up, ",gives_up_ns"},
      {columns_.measured_ttft, ",measured_ttft_ns"},
      {columns_.measured_e2el, ",measured_e2el_ns"},
  }};
  for (const auto& [is_there, name] : optional) {
    if (is_there) buffer_ += name;
  }
  buffer_ += '\n';
}

std::string_view TraceCsvWriter::obstacle(const TraceRecord& record) const {
  const bool has_time = record.time_ns != kNoTime;
  const bool in_session = columns_.session && record.session != kNoSession;
  const bool follows = columns_.after_previous && record.after_previous_ns >= 0;
  if (has_time && (record.time_ns < 0 || record.time_ns == kNever)) return "time out of range";
  if (has_time && columns_.clock == TraceClock::none) return "a time in a table without times";
  if (!has_time && columns_.clock != TraceClock::none) {
    // The first row tells whether a table has times.
    if (rows_ == 0 && columns_.clock == TraceClock::absolute) return "no time in the first row";
    if (!follows) return "neither a time nor a gap after the previous answer";
  }
  if (columns_.clock == TraceClock::per_session && !in_session) return "no session";
  if (follows && !in_session) return "a gap after the previous answer, but no session";
  if (columns_.thinking_tokens && record.thinking_tokens > record.output_tokens) {
    return "more thinking tokens than output tokens";
  }
  if (columns_.prefix && tokens_of(record.prefix) > record.prompt_tokens) {
    return "more tokens in the prefix than in the prompt";
  }
  if (columns_.class_name && record.class_name.find_first_of("\r\n") != std::string_view::npos) {
    return "a line break in the class name";
  }
  return {};
}

void TraceCsvWriter::write(const TraceRecord& record) {
  const std::string_view reason = obstacle(record);
  if (!reason.empty()) throw DataError(fmt::format("row {}: {}", rows_ + 1, reason));
  if (record.time_ns != kNoTime) write_number(record.time_ns);
  write_field(record.prompt_tokens, true);
  write_field(record.output_tokens, true);
  write_optional_fields(record);
  buffer_ += '\n';
  ++rows_;
  if (buffer_.size() < kPieceBytes) return;
  sink_(buffer_);
  buffer_.clear();
}

void TraceCsvWriter::write_optional_fields(const TraceRecord& record) {
  if (columns_.thinking_tokens) write_field(record.thinking_tokens, record.thinking_tokens != 0);
  if (columns_.max_tokens) write_field(record.max_tokens, record.max_tokens != 0);
  if (columns_.priority) write_field(record.priority, record.priority != 0);
  if (columns_.class_name) write_class(record.class_name);
  if (columns_.session) write_field(record.session, record.session != kNoSession);
  if (columns_.after_previous) {
    write_field(record.after_previous_ns, record.after_previous_ns >= 0);
  }
  if (columns_.prefix) write_prefix(record.prefix);
  if (columns_.output_segment) write_field(record.output_segment, record.output_segment != 0);
  if (columns_.gives_up) write_field(record.gives_up_ns, record.gives_up_ns >= 0);
  if (columns_.measured_ttft) write_field(record.measured_ttft_ns, record.measured_ttft_ns >= 0);
  if (columns_.measured_e2el) write_field(record.measured_e2el_ns, record.measured_e2el_ns >= 0);
}

void TraceCsvWriter::finish() {
  if (!buffer_.empty()) sink_(buffer_);
  buffer_.clear();
}

template <typename T>
void TraceCsvWriter::write_field(T value, bool stated) {
  buffer_ += ',';
  if (stated) write_number(value);
}

template <typename T>
void TraceCsvWriter::write_number(T value) {
  std::array<char, 24> digits{};  // 20 for the longest 64-bit integer
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  buffer_.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

void TraceCsvWriter::write_class(std::string_view name) {
  buffer_ += ',';
  buffer_ += csv_field(name);
}

void TraceCsvWriter::write_prefix(const std::vector<PrefixSegment>& prefix) {
  buffer_ += ',';
  const std::size_t begin = buffer_.size();
  for (const PrefixSegment& segment : prefix) {
    if (buffer_.size() != begin) buffer_ += '|';
    write_number(segment.id);
    buffer_ += ':';
    write_number(segment.tokens);
  }
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) {
    if (c == '"') field += '"';
    field += c;
  }
  return field + '"';
}

}  // namespace headroom
