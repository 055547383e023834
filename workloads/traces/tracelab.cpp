#include "workloads/traces/tracelab.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "workloads/traces/decimal.hpp"
#include "workloads/traces/json_values.hpp"
#include "workloads/traces/timestamp.hpp"

namespace headroom {
namespace {

using Kind = JsonNode::Kind;

bool is_input(std::string_view event) { return event == "user_message" || event == "tool_result"; }

bool is_output(std::string_view event) {
  return event == "text" || event == "reasoning" || event == "tool_call";
}

// The objects of an array; missing, null: none.
const std::vector<JsonNode>& objects(const JsonRows& rows, std::string_view key) {
  static const std::vector<JsonNode> kNone;
  const JsonNode* value = rows.row().find(key);
  if (value == nullptr || value->kind == Kind::null) return kNone;
  const bool fits =
      value->kind == Kind::array && value->integers.empty() &&
      std::ranges::all_of(value->items, [](const auto& i) { return i.kind == Kind::object; });
  if (!fits) rows.refuse(key, value, "an array of objects");
  return value->items;
}

}  // namespace

bool is_tracelab(const FileStart& start) {
  const FileStart row{.first_line = start.first_line, .bytes = start.first_line};
  return row.bytes.starts_with('{') && json_mentions(row, "session_id") &&
         json_mentions(row, "input_tokens_total") && json_mentions(row, "prefix_tokens");
}

bool TraceLabReader::next(TraceRecord& record) {
  if (!rows_.next()) return false;
  const std::uint64_t id = session_of(rows_, rows_.row(), "session_id");
  if (id == kNoSession) {
    rows_.refuse("session_id", rows_.row().find("session_id"), "the name of the session");
  }
  const auto [found, first] = sessions_.try_emplace(id, Session{.chain = SessionChain(id)});
  Session& session = found->second;
  const Times times = read_times();
  if (times.sent_ns == kNoTime && sessions_.size() == 1 && first) {
    rows_.refuse("timing_events", rows_.row().find("timing_events"),
                 "at least one event with a time in the first round of the file");
  }
  record.session = id;
  record.class_name = text_of(rows_.row(), "model");
  record.time_ns = times.sent_ns;
  record.after_previous_ns = -1;
  if (!first) {
    const bool known = times.sent_ns != kNoTime && session.end_ns != kNoTime;
    record.after_previous_ns =
        known ? std::max<TimeNs>(times.sent_ns - session.end_ns, 0) : session.tools_ns;
  }
  const bool ended = times.sent_ns != kNoTime && times.end_ns != kNoTime;
  record.measured_e2el_ns = ended ? times.end_ns - times.sent_ns : -1;
  session.end_ns = times.end_ns;
  session.tools_ns = read_tools();
  read_prompt(session.chain, record);
  return true;
}

TraceLabReader::Times TraceLabReader::read_times() const {
  TimeNs latest_input = kNoTime;
  TimeNs first_output = kNever;
  TimeNs latest_output = kNoTime;
  for (const JsonNode& event : objects(rows_, "timing_events")) {
    const std::string_view type = text_of(event, "event_type");
    if (!is_input(type) && !is_output(type)) continue;
    const std::string_view text = text_of(event, "timestamp");
    if (text.empty()) continue;
    const std::optional<TimeNs> time_ns = parse_timestamp(text);
    if (!time_ns) {
      rows_.refuse("timestamp", event.find("timestamp"),
                   "YYYY-MM-DDThh:mm:ss[.fraction][Z or +hh:mm], 1970 to 2254");
    }
    if (is_input(type)) {
      latest_input = std::max(latest_input, *time_ns);
    } else {
      first_output = std::min(first_output, *time_ns);
      latest_output = std::max(latest_output, *time_ns);
    }
  }
  Times times{.sent_ns = latest_input, .end_ns = latest_output};
  if (times.sent_ns == kNoTime && first_output != kNever) times.sent_ns = first_output;
  if (times.end_ns < times.sent_ns) times.end_ns = kNoTime;
  return times;
}

TimeNs TraceLabReader::read_tools() const {
  constexpr std::string_view kKey = "tool_wall_latency_ms";
  constexpr TimeNs kLongestNs = INT64_MAX / 4;
  TimeNs sum_ns = 0;
  for (const JsonNode& tool : objects(rows_, "tools")) {
    const JsonNode* value = tool.find(kKey);
    if (value == nullptr || value->kind == Kind::null) continue;
    std::optional<TimeNs> wait_ns;
    if (value->kind == Kind::number) wait_ns = parse_scaled_decimal(value->text, kNsPerMs);
    if (!wait_ns || *wait_ns > kLongestNs - sum_ns) {
      rows_.refuse(kKey, value, "milliseconds, with a sum within 73 years");
    }
    sum_ns += std::max<TimeNs>(*wait_ns, 0);  // below 0: the result was logged before the call
  }
  return sum_ns;
}

void TraceLabReader::read_prompt(SessionChain& chain, TraceRecord& record) const {
  const JsonNode& row = rows_.row();
  record.prompt_tokens = need_count(rows_, row, "input_tokens_total");
  record.output_tokens = need_count(rows_, row, "output_tokens");
  record.thinking_tokens = std::min(rows_.count("reasoning_output_tokens"), record.output_tokens);
  const std::int32_t kept = rows_.count("prefix_tokens");
  if (kept > record.prompt_tokens) {
    rows_.refuse("prefix_tokens", row.find("prefix_tokens"),
                 fmt::format("at most the {} of input_tokens_total", record.prompt_tokens));
  }
  chain.prompt(kept, record.prompt_tokens - kept);
  record.prefix = chain.segments();
  record.output_segment = chain.answer(record.output_tokens);
}

}  // namespace headroom
