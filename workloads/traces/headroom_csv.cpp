#include "workloads/traces/headroom_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "sim/kernel/errors.hpp"
#include "workloads/traces/identity.hpp"
#include "workloads/traces/shown.hpp"

namespace headroom {
namespace {

constexpr std::array<std::string_view, 15> kColumns = {
    "arrival_ns",     "prompt_tokens", "output_tokens",    "thinking_tokens",   "max_tokens",
    "priority",       "class",         "session",          "after_previous_ns", "prefix",
    "output_segment", "gives_up_ns",   "measured_ttft_ns", "measured_e2el_ns",  "session_time_ns"};

// "id:tokens"; false when it is anything else.
bool read_segment(std::string_view text, PrefixSegment& segment) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const std::optional<std::uint64_t> id = parse_unsigned(text.substr(0, colon));
  const std::optional<std::uint64_t> tokens = parse_unsigned(text.substr(colon + 1));
  if (!id || !tokens || *tokens == 0 || *tokens > INT32_MAX) return false;
  segment = {.id = *id, .tokens = static_cast<std::int32_t>(*tokens)};
  return true;
}

}  // namespace

bool is_headroom_csv(const FileStart& start) {
  return (csv_header_has(start.first_line, "arrival_ns") ||
          csv_header_has(start.first_line, "session_time_ns")) &&
         csv_header_has(start.first_line, "prompt_tokens") &&
         csv_header_has(start.first_line, "output_tokens");
}

HeadroomCsvReader::HeadroomCsvReader(LineReader& lines)
    : rows_(lines),
      session_time_(rows_.find("session_time_ns")),
      time_(session_time_ ? *session_time_ : rows_.need("arrival_ns")),
      prompt_(rows_.need("prompt_tokens")),
      output_(rows_.need("output_tokens")),
      thinking_(rows_.find("thinking_tokens")),
      max_tokens_(rows_.find("max_tokens")),
      priority_(rows_.find("priority")),
      class_(rows_.find("class")),
      session_(rows_.find("session")),
      after_previous_(rows_.find("after_previous_ns")),
      prefix_(rows_.find("prefix")),
      output_segment_(rows_.find("output_segment")),
      gives_up_(rows_.find("gives_up_ns")),
      ttft_(rows_.find("measured_ttft_ns")),
      e2el_(rows_.find("measured_e2el_ns")) {
  check_columns(lines);
  first_row_ = rows_.next();
  if (session_time_) {
    clock_ = TraceClock::per_session;
  } else if (*first_row_ && rows_.text(time_).empty()) {
    clock_ = TraceClock::none;
  }
}

void HeadroomCsvReader::check_columns(const LineReader& lines) const {
  for (const std::string& name : rows_.columns()) {
    if (std::ranges::find(kColumns, name) != kColumns.end()) continue;
    throw DataError(fmt::format("{}: unknown column '{}' in the header; known columns: {}",
                                lines.place(), shown(name), fmt::join(kColumns, ", ")));
  }
  if (session_time_ && rows_.find("arrival_ns")) {
    throw DataError(
        fmt::format("{}: columns 'arrival_ns' and 'session_time_ns' in one header", lines.place()));
  }
}

bool HeadroomCsvReader::next(TraceRecord& record) {
  const bool has_row = first_row_ ? *first_row_ : rows_.next();
  first_row_.reset();
  if (!has_row) return false;
  set_tokens(record);
  record.priority = number<std::int32_t>(priority_, INT32_MIN, INT32_MAX, 0);
  record.class_name = class_ ? rows_.text(*class_) : std::string_view();
  record.session = number<std::uint64_t>(session_, 0, kNoSession - 1, kNoSession);
  set_time(record);
  set_prefix(record);
  record.output_segment = number<std::uint64_t>(output_segment_, 0, UINT64_MAX, 0);
  record.gives_up_ns = number<TimeNs>(gives_up_, 0, kLatestTraceNs, -1);
  record.measured_ttft_ns = number<TimeNs>(ttft_, 0, kLatestTraceNs, -1);
  record.measured_e2el_ns = number<TimeNs>(e2el_, 0, kLatestTraceNs, -1);
  return true;
}

void HeadroomCsvReader::set_tokens(TraceRecord& record) const {
  constexpr std::int32_t kMost = INT32_MAX;
  record.prompt_tokens = number<std::int32_t>(prompt_, 0, kMost, 0);
  record.output_tokens = number<std::int32_t>(output_, 0, kMost, 0);
  record.thinking_tokens = number<std::int32_t>(thinking_, 0, record.output_tokens, 0);
  record.max_tokens = number<std::int32_t>(max_tokens_, 0, kMost, 0);
}

void HeadroomCsvReader::set_time(TraceRecord& record) const {
  const bool in_session = record.session != kNoSession;
  record.time_ns = number<TimeNs>(time_, 0, kLatestTraceNs, kNoTime);
  record.after_previous_ns = number<TimeNs>(after_previous_, 0, kLatestTraceNs, -1);
  const bool follows = record.after_previous_ns >= 0;
  if (follows && !in_session) rows_.refuse(*after_previous_, "empty in a row without a session");
  if (clock_ == TraceClock::per_session && !in_session) {
    rows_.refuse(time_, "a row with a session: this is the time since the session began");
  }
  if (clock_ == TraceClock::none) {
    if (record.time_ns != kNoTime) rows_.refuse(time_, "empty, as in the first row");
  } else if (record.time_ns == kNoTime && !follows) {
    rows_.refuse(time_, "a time, because the row has no after_previous_ns");
  }
}

void HeadroomCsvReader::set_prefix(TraceRecord& record) const {
  record.prefix.clear();
  if (!prefix_) return;
  std::string_view rest = rows_.text(*prefix_);
  std::int64_t tokens = 0;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('|'), rest.size());
    PrefixSegment segment;
    if (!read_segment(rest.substr(0, end), segment) || end + 1 == rest.size()) {
      rows_.refuse(*prefix_, "id:tokens|id:tokens..., 1 or more tokens each");
    }
    record.prefix.push_back(segment);
    tokens += segment.tokens;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (tokens > record.prompt_tokens) {
    rows_.refuse(*prefix_, fmt::format("at most the {} tokens of the prompt, not {}",
                                       record.prompt_tokens, tokens));
  }
}

template <typename T>
T HeadroomCsvReader::number(const Column& column, T low, T high, T none) const {
  if (!column) return none;
  const std::string_view field = rows_.text(*column);
  if (field.empty()) return none;
  T value{};
  const char* end = field.data() + field.size();
  const auto [at, error] = std::from_chars(field.data(), end, value);
  if (error == std::errc() && at == end && value >= low && value <= high) return value;
  rows_.refuse(*column, fmt::format("an integer in {} .. {}", low, high));
}

}  // namespace headroom
