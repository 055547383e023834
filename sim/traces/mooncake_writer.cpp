#include "sim/traces/mooncake_writer.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

namespace headroom {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 16;

}  // namespace

MooncakeWriter::MooncakeWriter(Sink sink) : sink_(std::move(sink)) {
  buffer_.reserve(2 * kPieceBytes);
}

void MooncakeWriter::write(const TraceRecord& record) {
  buffer_ += '{';
  if (record.time_ns != kNoTime) {
    buffer_ += "\"timestamp\": ";
    write_ms(record.time_ns);
    buffer_ += ", ";
  }
  buffer_ += "\"input_length\": ";
  write_number(record.prompt_tokens);
  buffer_ += ", \"output_length\": ";
  write_number(record.output_tokens);
  std::string_view before = ", \"hash_ids\": [";
  for (const PrefixSegment& block : record.prefix) {
    buffer_ += std::exchange(before, ", ");
    write_number(block.id);
  }
  if (!record.prefix.empty()) buffer_ += ']';
  if (record.session != kNoSession) {
    buffer_ += ", \"session_id\": \"";
    write_number(record.session);
    buffer_ += R"(", "context_mode": "message_array_with_responses")";  // input_length is all of it
  }
  if (record.time_ns == kNoTime && record.after_previous_ns >= 0) {
    buffer_ += ", \"delay\": ";
    write_ms(record.after_previous_ns);
  }
  buffer_ += "}\n";
  if (buffer_.size() >= kPieceBytes) finish();
}

void MooncakeWriter::finish() {
  if (!buffer_.empty()) sink_(buffer_);
  buffer_.clear();
}

// Exact: as many decimals as it takes.
void MooncakeWriter::write_ms(TimeNs ns) {
  write_number(ns / kNsPerMs);
  TimeNs rest = ns % kNsPerMs;
  if (rest == 0) return;
  buffer_ += '.';
  for (TimeNs unit = kNsPerMs / 10; rest != 0; unit /= 10) {
    buffer_ += static_cast<char>('0' + rest / unit);
    rest %= unit;
  }
}

template <typename T>
void MooncakeWriter::write_number(T value) {
  std::array<char, 24> digits{};  // 20 for the longest 64-bit integer
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  buffer_.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

std::string MooncakeObstacles::of(const TraceRecord& record) {
  if (clock_ == TraceClock::per_session) {
    return "times count from the start of each session, but Mooncake has one clock for all rows";
  }
  note_left_out(record);
  std::string reason = of_time(record);
  return reason.empty() ? of_prefix(record) : reason;
}

// The reader takes a row for a later turn when its session has been seen before.
std::string MooncakeObstacles::of_time(const TraceRecord& record) {
  const bool in_session = record.session != kNoSession;
  const bool is_later_turn = in_session && !sessions_.insert(record.session).second;
  if (record.time_ns != kNoTime) return "";
  if (clock_ == TraceClock::absolute && !is_later_turn) {
    return "a row without a time that is not a later turn of a session";
  }
  const bool follows = record.after_previous_ns >= 0;
  if (follows == is_later_turn) return "";
  return follows
             ? "a gap after a previous answer that the file does not have"
             : "a later turn of a session with neither a time nor a gap after the previous answer";
}

std::string MooncakeObstacles::of_prefix(const TraceRecord& record) {
  const std::size_t count = record.prefix.size();
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const PrefixSegment& block = record.prefix[i];
    tokens += block.tokens;
    const bool fits = i + 1 == count ? block.tokens <= kMooncakeBlockTokens
                                     : block.tokens == kMooncakeBlockTokens;
    if (!fits) {
      return fmt::format(
          "piece {} of {} of its prompt has {} tokens, but Mooncake needs {} in each but the last",
          i + 1, count, block.tokens, kMooncakeBlockTokens);
    }
    if (block.id > INT64_MAX) {
      return fmt::format("piece {} of its prompt has the id {}, but Mooncake needs ids below 2^63",
                         i + 1, block.id);
    }
  }
  if (count == 0 || tokens == record.prompt_tokens) return "";
  return fmt::format("{} of its {} prompt tokens have identities, but Mooncake needs all of them",
                     tokens, record.prompt_tokens);
}

void MooncakeObstacles::note_left_out(const TraceRecord& record) {
  thinking_tokens_ |= record.thinking_tokens != 0;
  max_tokens_ |= record.max_tokens != 0;
  priority_ |= record.priority != 0;
  class_name_ |= !record.class_name.empty();
  after_previous_ |= record.time_ns != kNoTime && record.after_previous_ns >= 0;
  output_segment_ |= record.output_segment != 0;
  gives_up_ |= record.gives_up_ns >= 0;
  measured_ttft_ |= record.measured_ttft_ns >= 0;
  measured_e2el_ |= record.measured_e2el_ns >= 0;
}

std::vector<std::string> MooncakeObstacles::left_out() const {
  std::vector<std::string> names;
  const auto add = [&names](bool is_there, const char* name) {
    if (is_there) names.emplace_back(name);
  };
  add(thinking_tokens_, "thinking_tokens");
  add(max_tokens_, "max_tokens");
  add(priority_, "priority");
  add(class_name_, "class");
  add(after_previous_, "after_previous_ns (of rows with a time)");
  add(output_segment_, "output_segment");
  add(gives_up_, "gives_up_ns");
  add(measured_ttft_, "measured_ttft_ns");
  add(measured_e2el_, "measured_e2el_ns");
  return names;
}

}  // namespace headroom
