#include "workloads/traces/vidur.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "workloads/traces/decimal.hpp"
#include "workloads/traces/identity.hpp"
#include "workloads/traces/json_line.hpp"

namespace headroom {
namespace {

constexpr std::int32_t kDefaultBlockTokens = 16;
constexpr TimeNs kDefaultToolLatencyNs = 1'000'000;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool is_integer(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "11|22", "[11, 22]", "11,22"; false when it is anything else.
bool read_ids(std::string_view text, std::vector<std::uint64_t>& ids) {
  text = trimmed(text);
  const bool bracketed = text.starts_with('[');
  if (bracketed != text.ends_with(']')) return false;
  if (bracketed) text = trimmed(text.substr(1, text.size() - 2));
  const char separator = text.find('|') == std::string_view::npos ? ',' : '|';
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view id = trimmed(text.substr(0, end));
    if (!is_integer(id) || end + 1 == text.size()) return false;
    ids.push_back(identity_of(id));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

std::optional<std::int32_t> count_of(const JsonNode& object, std::string_view key) {
  const JsonNode* value = object.find(key);
  if (value == nullptr || value->kind != JsonNode::Kind::number) return std::nullopt;
  return parse_count(value->text);
}

}  // namespace

bool is_vidur(const FileStart& start) {
  // Frontier's later rewrite in C++ has other times, session_start_at and think_time.
  return csv_header_has(start.first_line, "num_prefill_tokens") &&
         csv_header_has(start.first_line, "num_decode_tokens") &&
         !csv_header_has(start.first_line, "session_start_at");
}

VidurReader::VidurReader(LineReader& lines)
    : lines_(lines),
      rows_(lines),
      prompt_(rows_.need("num_prefill_tokens")),
      output_(rows_.need("num_decode_tokens")),
      time_(rows_.find("arrived_at")),
      session_(rows_.find("session_id")),
      priority_(rows_.find("priority")),
      cohort_(rows_.find("cohort")),
      blocks_(rows_.find("block_hash_ids")),
      block_size_(rows_.find("block_size")),
      plans_(rows_.find("thinking_round_plans_json")),
      depth_(rows_.find("thinking_depth")),
      latency_(rows_.find("tool_call_latency")) {}

TraceClock VidurReader::clock() const { return time_ ? TraceClock::absolute : TraceClock::none; }

bool VidurReader::next(TraceRecord& record) {
  if (next_round_ == rounds_.size()) {
    if (!rows_.next()) return false;
    read_row();
  }
  const bool first = next_round_ == 0;
  record.time_ns = first && time_ ? rows_.time(*time_, kNsPerSecond) : kNoTime;
  record.after_previous_ns = first ? -1 : between_rounds_ns_;
  record.session = session_id_;
  record.priority = priority();
  if (cohort_) record.class_name = rows_.text(*cohort_);
  set_round(record);
  ++next_round_;
  return true;
}

void VidurReader::read_row() {
  next_round_ = 0;
  read_rounds();
  read_blocks();
  session_id_ = session_ ? session_of(rows_.text(*session_)) : kNoSession;
  if (rounds_.size() == 1) return;
  between_rounds_ns_ = kDefaultToolLatencyNs;
  if (latency_) {
    between_rounds_ns_ = rows_.optional_time(*latency_, kNsPerSecond).value_or(between_rounds_ns_);
  }
  // Rounds follow each other, so they are a session, the row's own one where it names none.
  if (session_id_ == kNoSession) {
    session_id_ = mixed_id(kNoSession, static_cast<std::uint64_t>(rows_.rows_read()));
  }
}

void VidurReader::read_rounds() {
  rounds_.clear();
  const Round row{.prompt_tokens = rows_.count(prompt_), .output_tokens = rows_.count(output_)};
  if (plans_ && !rows_.text(*plans_).empty()) {
    add_planned_rounds();
    if (rounds_.empty() || rounds_.back() != row) {
      rows_.refuse(*plans_, "rounds, the last with the counts of the row");
    }
  } else {
    rounds_.push_back(row);
  }
  const bool has_depth = depth_ && !rows_.text(*depth_).empty();
  if (has_depth && rows_.count(*depth_) != static_cast<std::int64_t>(rounds_.size())) {
    rows_.refuse(*depth_, fmt::format("{}, the number of rounds in thinking_round_plans_json",
                                      rounds_.size()));
  }
}

void VidurReader::add_planned_rounds() {
  constexpr std::string_view kWanted =
      R"([{"num_prefill_tokens": count, "num_decode_tokens": count}, ...])";
  const JsonNode plans = parse_json_node(rows_.text(*plans_), lines_.place());
  if (plans.kind != JsonNode::Kind::array) rows_.refuse(*plans_, kWanted);
  for (const JsonNode& plan : plans.items) {
    const std::optional<std::int32_t> prompt = count_of(plan, "num_prefill_tokens");
    const std::optional<std::int32_t> output = count_of(plan, "num_decode_tokens");
    if (!prompt || !output) rows_.refuse(*plans_, kWanted);
    rounds_.push_back({.prompt_tokens = *prompt, .output_tokens = *output});
  }
}

void VidurReader::read_blocks() {
  ids_.clear();
  if (!blocks_) return;
  if (!read_ids(rows_.text(*blocks_), ids_)) {
    rows_.refuse(*blocks_, "integers, as in 11|22 or [11,22]");
  }
  block_tokens_ = block_size_ ? rows_.count(*block_size_) : 0;
  if (block_tokens_ == 0) block_tokens_ = kDefaultBlockTokens;
  const Round& row = rounds_.back();
  const std::int64_t tokens = std::int64_t{row.prompt_tokens} + row.output_tokens;
  const std::int64_t blocks = (tokens + block_tokens_ - 1) / block_tokens_;
  if (static_cast<std::int64_t>(ids_.size()) > blocks) {
    rows_.refuse(*blocks_, fmt::format("at most {} ids: {} tokens in blocks of {}", blocks, tokens,
                                       block_tokens_));
  }
}

void VidurReader::set_round(TraceRecord& record) {
  const Round& round = rounds_[next_round_];
  record.prompt_tokens = round.prompt_tokens;
  record.output_tokens = round.output_tokens;
  record.prefix.clear();
  std::int32_t left = round.prompt_tokens;
  for (const std::uint64_t id : ids_) {
    if (left == 0) break;
    record.prefix.push_back({.id = id, .tokens = std::min(left, block_tokens_)});
    left -= record.prefix.back().tokens;
  }
}

std::int32_t VidurReader::priority() const {
  if (!priority_ || rows_.text(*priority_).empty()) return 0;
  const std::int64_t value = rows_.integer(*priority_);
  if (value < INT32_MIN || value > INT32_MAX) rows_.refuse(*priority_, "a 32-bit integer");
  return static_cast<std::int32_t>(value);
}

}  // namespace headroom
