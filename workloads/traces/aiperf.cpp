#include "workloads/traces/aiperf.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "workloads/traces/json_values.hpp"

namespace headroom {
namespace {

using Kind = JsonNode::Kind;

bool present(const JsonNode* value) { return value != nullptr && value->kind != Kind::null; }

// ns per unit of time as AIPerf prints it; nothing of other units.
std::optional<TimeNs> unit_ns(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, TimeNs>, 5> kUnits = {
      {{"ms", kNsPerMs}, {"ns", 1}, {"us", 1'000}, {"s", kNsPerSecond}, {"sec", kNsPerSecond}}};
  const auto found = std::find_if(kUnits.begin(), kUnits.end(),
                                  [&](const auto& known) { return known.first == unit; });
  if (found == kUnits.end()) return std::nullopt;
  return found->second;
}

}  // namespace

bool is_aiperf(const FileStart& start) {
  const FileStart row{.first_line = start.first_line, .bytes = start.first_line};
  return row.bytes.starts_with('{') && json_mentions(row, "metadata") &&
         json_mentions(row, "metrics") &&
         (json_mentions(row, "request_start_ns") || json_mentions(row, "timestamp_ns"));
}

bool AiPerfReader::next(TraceRecord& record) {
  if (!rows_.next()) return false;
  const JsonNode& metadata = need_object("metadata");
  const bool failed = present(rows_.row().find("error")) || present(metadata.find("error")) ||
                      text_of(metadata, "was_cancelled") == "true";
  record.session = session_of(rows_, metadata, "x_correlation_id");
  if (record.session == kNoSession) record.session = session_of(rows_, metadata, "conversation_id");
  class_name_ = text_of(metadata, "benchmark_phase");
  if (class_name_.empty()) class_name_ = text_of(metadata, "credit_phase");
  record.class_name = class_name_;
  read_times(metadata, latency(need_object("metrics"), "request_latency"), record);
  read_metrics(failed, record);
  return true;
}

void AiPerfReader::read_times(const JsonNode& metadata, TimeNs latency_ns, TraceRecord& record) {
  std::optional<TimeNs> start_ns = rows_.time(metadata, "request_start_ns", 1);
  if (!start_ns) start_ns = rows_.time(metadata, "timestamp_ns", 1);
  if (!start_ns) {
    rows_.refuse("request_start_ns", metadata.find("request_start_ns"), "nanoseconds since 1970");
  }
  std::optional<TimeNs> end_ns = rows_.time(metadata, "request_end_ns", 1);
  if (!end_ns && latency_ns >= 0 && *start_ns <= INT64_MAX - latency_ns) {
    end_ns = *start_ns + latency_ns;
  }
  record.time_ns = *start_ns;
  record.after_previous_ns = -1;
  if (record.session == kNoSession) return;
  const auto [previous, first] = ends_.try_emplace(record.session, kNoTime);
  const bool later_turn = rows_.count(metadata, "turn_index") > 0;
  if (!first && later_turn && previous->second != kNoTime && *start_ns >= previous->second) {
    record.after_previous_ns = *start_ns - previous->second;
  }
  previous->second = end_ns.value_or(kNoTime);
}

void AiPerfReader::read_metrics(bool failed, TraceRecord& record) const {
  const JsonNode& metrics = need_object("metrics");
  record.prompt_tokens = tokens(metrics, "input_sequence_length");
  if (record.prompt_tokens == 0) record.prompt_tokens = tokens(metrics, "error_isl");
  record.thinking_tokens = tokens(metrics, "reasoning_token_count");
  record.output_tokens = tokens(metrics, "output_sequence_length");
  if (record.output_tokens == 0) {
    // Without reasoning tokens, as AIPerf counts it.
    const std::int32_t answer = tokens(metrics, "output_token_count");
    if (answer > INT32_MAX - record.thinking_tokens) {
      rows_.refuse("output_token_count", metrics.find("output_token_count"), "less than 2^31");
    }
    record.output_tokens = answer + record.thinking_tokens;
  }
  record.thinking_tokens = std::min(record.thinking_tokens, record.output_tokens);
  record.measured_ttft_ns = latency(metrics, "time_to_first_token");
  if (record.measured_ttft_ns < 0) record.measured_ttft_ns = latency(metrics, "ttft");
  record.measured_e2el_ns = latency(metrics, "request_latency");
  if (!failed) return;
  record.output_tokens = 0;
  record.thinking_tokens = 0;
  record.measured_ttft_ns = -1;
  record.measured_e2el_ns = -1;
}

const JsonNode& AiPerfReader::need_object(std::string_view key) const {
  const JsonNode* value = rows_.row().find(key);
  if (value == nullptr || value->kind != Kind::object) rows_.refuse(key, value, "an object");
  return *value;
}

std::int32_t AiPerfReader::tokens(const JsonNode& metrics, std::string_view name) const {
  const JsonNode* metric = metrics.find(name);
  if (!present(metric)) return 0;
  if (metric->kind != Kind::object) rows_.refuse(name, metric, "an object with a value");
  return rows_.count(*metric, "value");
}

TimeNs AiPerfReader::latency(const JsonNode& metrics, std::string_view name) const {
  const JsonNode* metric = metrics.find(name);
  if (!present(metric)) return -1;
  if (metric->kind != Kind::object) rows_.refuse(name, metric, "an object with a value");
  const std::optional<TimeNs> unit = unit_ns(text_of(*metric, "unit"));
  if (!unit) rows_.refuse("unit", metric->find("unit"), "ns, us, ms, s or sec");
  return rows_.time(*metric, "value", *unit).value_or(-1);
}

}  // namespace headroom
