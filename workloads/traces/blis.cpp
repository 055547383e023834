#include "workloads/traces/blis.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/errors.hpp"
#include "workloads/traces/blis_header.hpp"
#include "workloads/traces/decimal.hpp"
#include "workloads/traces/identity.hpp"
#include "workloads/traces/json_line.hpp"

namespace headroom {
namespace {

constexpr TimeNs kNsPerUs = 1'000;

bool is_yaml_header(const FileStart& start) {
  return start.first_line.starts_with("trace_version:");
}

LineReader& table_in(LineReader& lines) {
  if (is_yaml_header(lines.start())) {
    throw DataError(fmt::format(
        "{}: is the YAML header of a BLIS trace, not its table: name its CSV file", lines.path()));
  }
  return lines;
}

}  // namespace

bool is_blis(const FileStart& start) {
  return is_yaml_header(start) || (csv_header_has(start.first_line, "arrival_time_us") &&
                                   csv_header_has(start.first_line, "input_tokens") &&
                                   csv_header_has(start.first_line, "output_tokens"));
}

BlisReader::BlisReader(LineReader& lines)
    : rows_(table_in(lines)),
      input_(rows_.need("input_tokens")),
      output_(rows_.need("output_tokens")),
      arrival_(rows_.need("arrival_time_us")),
      send_(rows_.find("send_time_us")),
      first_chunk_(rows_.find("first_chunk_time_us")),
      last_chunk_(rows_.find("last_chunk_time_us")),
      status_(rows_.find("status")),
      group_(rows_.find("prefix_group")),
      group_tokens_(rows_.find("prefix_length")),
      server_input_(rows_.find("server_input_tokens")),
      class_(rows_.find("slo_class")),
      priority_(rows_.find("vllm_priority")),
      session_(rows_.find("session_id")),
      round_(rows_.find("round_index")),
      reset_(rows_.find("input_tokens_reset")),
      think_(rows_.find("think_time_us")),
      reason_ratio_(rows_.find("reason_ratio")),
      // Only traces that accumulate have a column for where they stop doing so.
      accumulates_(read_blis_header(lines.path()).accumulates || reset_.has_value()) {
  if (accumulates_) {
    static_cast<void>(rows_.need("session_id"));
    static_cast<void>(rows_.need("round_index"));
  }
}

bool BlisReader::next(TraceRecord& record) {
  if (!rows_.next()) return false;
  record.output_tokens = rows_.count(output_);
  record.priority = count(priority_);
  if (class_) record.class_name = rows_.text(*class_);
  record.session = session_ ? session_of(rows_.text(*session_)) : kNoSession;
  set_times(record);
  if (accumulates_ && record.session != kNoSession) {
    set_accumulated_prompt(record);
  } else {
    set_prompt(record);
  }
  set_thinking(record);
  return true;
}

void BlisReader::set_times(TraceRecord& record) const {
  const TimeNs arrival_ns = rows_.time(arrival_, kNsPerUs);
  const TimeNs send_ns = time(send_);
  record.time_ns = send_ns > 0 ? send_ns : arrival_ns;
  record.after_previous_ns = -1;
  const bool is_later_round = !round_ || rows_.count(*round_) != 0;
  if (think_) {
    const TimeNs think_ns = rows_.optional_time(*think_, kNsPerUs).value_or(-1);
    if (record.session != kNoSession && is_later_round) record.after_previous_ns = think_ns;
  }
  const bool succeeded = !status_ || rows_.text(*status_) == "ok";
  record.measured_ttft_ns = since(record.time_ns, succeeded, first_chunk_);
  record.measured_e2el_ns = since(record.time_ns, succeeded, last_chunk_);
}

TimeNs BlisReader::since(TimeNs sent_ns, bool succeeded, const Column& column) const {
  const TimeNs time_ns = time(column);
  if (time_ns == 0 || !succeeded) return -1;
  if (time_ns < sent_ns) rows_.refuse(*column, "0, or a time after the request was sent");
  return time_ns - sent_ns;
}

// effectiveInputTokenCount in BLIS's replay.go.
BlisReader::PromptParts BlisReader::prompt_parts() const {
  PromptParts parts;
  const std::string_view group = group_ ? rows_.text(*group_) : std::string_view();
  const std::int32_t group_tokens = count(group_tokens_);
  const std::int32_t server_tokens = count(server_input_);
  parts.added = rows_.count(input_);
  if (!group.empty()) {
    parts.shared = {.id = text_id(group), .tokens = group_tokens};
    if (parts.shared.tokens > INT32_MAX - parts.added) {
      rows_.refuse(*group_tokens_, fmt::format("at most {}, with input_tokens", INT32_MAX));
    }
  } else if (server_tokens > 0) {
    parts.added = server_tokens;
  }
  return parts;
}

void BlisReader::set_prompt(TraceRecord& record) const {
  const PromptParts parts = prompt_parts();
  record.prompt_tokens = parts.shared.tokens + parts.added;
  record.prefix.clear();
  if (parts.shared.tokens > 0) record.prefix.push_back(parts.shared);
  record.output_segment = 0;
}

void BlisReader::set_accumulated_prompt(TraceRecord& record) {
  const auto found =
      sessions_.try_emplace(record.session, Session{.chain = SessionChain(record.session)}).first;
  Session& session = found->second;
  SessionChain& chain = session.chain;
  if (rows_.count(*round_) != session.next_round) {
    rows_.refuse(*round_, fmt::format("{}, the next round of its session", session.next_round));
  }
  const PromptParts parts = prompt_parts();
  const bool first = session.next_round++ == 0;
  if (first && parts.shared.tokens > 0) chain.add(parts.shared);
  const bool compacted = !first && reset_ && !rows_.text(*reset_).empty();
  const std::int64_t kept = compacted ? 0 : chain.tokens();
  const std::int32_t added = compacted ? rows_.count(*reset_) : parts.added;
  if (kept > INT32_MAX - added) {
    rows_.refuse(input_, fmt::format("at most {}, with the session's rounds before", INT32_MAX));
  }
  chain.prompt(static_cast<std::int32_t>(kept), added);
  record.prompt_tokens = static_cast<std::int32_t>(chain.tokens());
  record.prefix = chain.segments();
  record.output_segment = chain.answer(record.output_tokens);
}

void BlisReader::set_thinking(TraceRecord& record) const {
  record.thinking_tokens = 0;
  if (!reason_ratio_ || rows_.text(*reason_ratio_).empty()) return;
  const std::string_view ratio = rows_.text(*reason_ratio_);
  const std::optional<std::int64_t> tokens = parse_scaled_decimal(ratio, record.output_tokens);
  const std::optional<std::int64_t> billionths = parse_scaled_decimal(ratio, 1'000'000'000);
  if (!tokens || !billionths || *billionths < 0 || *billionths > 1'000'000'000) {
    rows_.refuse(*reason_ratio_, "a decimal number in 0 .. 1");
  }
  record.thinking_tokens = std::min(static_cast<std::int32_t>(*tokens), record.output_tokens);
}

std::int32_t BlisReader::count(const Column& column) const {
  return column ? rows_.count(*column) : 0;
}

TimeNs BlisReader::time(const Column& column) const {
  return column ? rows_.optional_time(*column, kNsPerUs).value_or(0) : 0;
}

}  // namespace headroom
