#include "workloads/traces/mooncake.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "workloads/traces/json_values.hpp"

namespace headroom {

bool is_mooncake(const FileStart& start) {
  if (first_json_key(start).empty()) return false;
  const auto has = [&](std::string_view key) { return json_mentions(start, key); };
  // Other formats with these keys.
  if (has("chat_id") || has("sys_prompt") || has("requests")) return false;
  const bool has_text = has("text_input") || has("messages");
  return has("input_length") || (has_text && has("output_length"));
}

MooncakeReader::MooncakeReader(LineReader& lines, SessionInput input)
    : rows_(lines),
      clock_(json_mentions(lines.start(), "timestamp") ? TraceClock::absolute : TraceClock::none),
      sessions_(lines.start(), input) {}

bool MooncakeReader::next(TraceRecord& record) {
  if (!rows_.next()) return false;
  read_tokens(record);
  read_prefix(record);
  record.session = session_of(rows_, rows_.row(), "session_id");
  const bool is_later_turn = sessions_.take(rows_, record);
  read_time(is_later_turn, record);
  return true;
}

void MooncakeReader::read_tokens(TraceRecord& record) {
  const JsonNode& row = rows_.row();
  const bool has_text = row.find("text_input") != nullptr || row.find("messages") != nullptr;
  record.prompt_tokens =
      has_text ? rows_.count("input_length") : need_count(rows_, row, "input_length");
  record.output_tokens = rows_.count("output_length");
}

void MooncakeReader::read_prefix(TraceRecord& record) {
  const std::vector<std::int64_t>& ids = identities(rows_, rows_.row(), "hash_ids");
  if (block_tokens_ == 0) find_block_size(ids.size(), record.prompt_tokens);
  // A prompt with one id is the same in blocks of any size that holds it.
  const std::int32_t size = block_tokens_ == 0 ? std::max(record.prompt_tokens, 1) : block_tokens_;
  read_block_ids(rows_, "hash_ids", size, record);
}

void MooncakeReader::find_block_size(std::size_t ids, std::int32_t tokens) {
  if (ids == 0) return;
  const auto fits = [&](std::int32_t size) { return blocks_of(tokens, size) == ids; };
  const auto size = std::ranges::find_if(kMooncakeBlocks, fits);
  if (size == kMooncakeBlocks.end()) {
    refuse_ids(rows_, "hash_ids", ids,
               fmt::format("one for each block of 512 of the {} tokens, or with a block size of {}",
                           tokens, fmt::join(kMooncakeBlocks, ", ")));
  }
  if (ids == 1) {
    longest_single_ = std::max(longest_single_, tokens);
    return;
  }
  if (longest_single_ > *size) {
    refuse_ids(rows_, "hash_ids", ids,
               fmt::format("equal block sizes: {} tokens here, {} in an earlier row", *size,
                           longest_single_));
  }
  block_tokens_ = *size;
}

void MooncakeReader::read_time(bool is_later_turn, TraceRecord& record) {
  const JsonNode& row = rows_.row();
  const std::optional<TimeNs> time_ns = rows_.time("timestamp", kNsPerMs);
  const std::string_view delay = row.find("delay") != nullptr ? "delay" : "delay_ms";
  const TimeNs delay_ns = rows_.time(delay, kNsPerMs).value_or(0);
  record.time_ns = time_ns.value_or(kNoTime);
  record.after_previous_ns = is_later_turn && !time_ns ? delay_ns : -1;
  if (time_ns && clock_ == TraceClock::none) {
    rows_.refuse("timestamp", row.find("timestamp"), "none, as the rows before have none");
  }
  if (!time_ns && clock_ == TraceClock::absolute && !is_later_turn) {
    rows_.refuse("timestamp", row.find("timestamp"),
                 "a number >= 0, or the session_id of an earlier row");
  }
}

}  // namespace headroom
