#pragma once
// Traces made by tests, and what tests compare of them.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/traces/trace.hpp"

namespace headroom::made_trace {

struct Row {
  TimeNs time_ns = 0;
  std::int32_t prompt_tokens = 10;
  std::int32_t output_tokens = 5;
  std::uint64_t session = kNoSession;
  TimeNs after_previous_ns = -1;
  bool timeless = false;
  std::int32_t thinking_tokens = 0;
  std::uint64_t output_segment = 0;
  std::vector<PrefixSegment> prefix = {};
};

// With details where a row has any.
[[nodiscard]] Trace of(const std::vector<Row>& rows);
// Rows that differ in their time and number alone: prompts are 1, 2, 3 ... tokens long.
[[nodiscard]] Trace at(const std::vector<TimeNs>& times);
// Random rows in order of time: some in sessions, prompts that begin alike, thinking.
[[nodiscard]] Trace random(std::uint64_t seed, std::int64_t rows);

[[nodiscard]] std::vector<TimeNs> times(const Trace& trace);
[[nodiscard]] std::vector<std::int32_t> prompts(const Trace& trace);
[[nodiscard]] std::vector<std::int32_t> outputs(const Trace& trace);
// "id:tokens|id:tokens"
[[nodiscard]] std::string chain(const Trace& trace, std::size_t row);
// All of a trace, one line per row.
[[nodiscard]] std::string text(const Trace& trace);

// How many tokens two prompts are known to have in common (sim/serving/prefix.hpp).
[[nodiscard]] std::int64_t common_tokens(std::span<const PrefixSegment> a,
                                         std::span<const PrefixSegment> b);

// Sums of prompts and of outputs.
struct Sums {
  std::int64_t prompt = 0;
  std::int64_t output = 0;
};
[[nodiscard]] Sums sums(const Trace& trace);

// What every trace promises: order of time, 1 token or more, chains no longer than their prompts,
// thinking no longer than its output.
[[nodiscard]] bool is_sound(const Trace& trace);

}  // namespace headroom::made_trace
