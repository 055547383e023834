#pragma once
// Writes records as Mooncake's JSONL, with session_id and delay as AIPerf adds them (what
// workloads/traces/mooncake.hpp reads): one object a line,
//   timestamp      ms, with decimals where it is not whole; not there: the row has no time
//   input_length, output_length
//   hash_ids       one for each block of 512 tokens of the prompt; not there: no identities
//   session_id     a text
//   delay          ms after the answer to the session's row before; in rows without a time only
// Anything else of a record has no place in it.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "workloads/traces/trace_record.hpp"

namespace headroom {

inline constexpr std::int32_t kMooncakeBlockTokens = 512;

class MooncakeWriter {
 public:
  using Sink = std::function<void(std::string_view text)>;  // takes pieces of some 64 KiB

  explicit MooncakeWriter(Sink sink);

  void write(const TraceRecord& record);
  // Writes the rest; only then is the text complete.
  void finish();

 private:
  void write_ms(TimeNs ns);
  template <typename T>
  void write_number(T value);

  Sink sink_;
  std::string buffer_;
};

// Finds what the format cannot state, in the order of the rows.
class MooncakeObstacles {
 public:
  explicit MooncakeObstacles(TraceClock clock) : clock_(clock) {}

  // Why this row would be read as another one; empty: it would not.
  [[nodiscard]] std::string of(const TraceRecord& record);
  // Fields that rows so far have and the format has not, by the names of Headroom's own columns.
  [[nodiscard]] std::vector<std::string> left_out() const;

 private:
  [[nodiscard]] std::string of_time(const TraceRecord& record);
  [[nodiscard]] static std::string of_prefix(const TraceRecord& record);
  void note_left_out(const TraceRecord& record);

  TraceClock clock_;
  std::unordered_set<std::uint64_t> sessions_;  // so far
  bool thinking_tokens_ = false;
  bool max_tokens_ = false;
  bool priority_ = false;
  bool class_name_ = false;
  bool after_previous_ = false;  // of rows with a time
  bool output_segment_ = false;
  bool gives_up_ = false;
  bool measured_ttft_ = false;
  bool measured_e2el_ = false;
};

}  // namespace headroom
