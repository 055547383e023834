#pragma once
// A trace file written anew in another format: the same rows in order of time, those with zero
// tokens, too, with times from the earliest arrival on. Two passes in constant memory for a file in
// order of time; any other is sorted in memory.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/traces/trace_record.hpp"

namespace headroom {

enum class TraceTarget : std::uint8_t {
  headroom,  // all that a record states (headroom_csv.hpp), in the columns that the file needs
  mooncake   // mooncake_writer.hpp
};
[[nodiscard]] TraceTarget trace_target(const std::string& name);  // ConfigError

struct Conversion {
  std::string file;  // name without directories
  std::string format;
  std::int64_t rows = 0;
  std::int64_t backward_steps = 0;
  SessionTurns session_turns;         // where the format leaves open what they state
  std::vector<std::string> left_out;  // columns that the target does not have
  std::string warning;                // of the file as a whole; empty: none
};

// `sink` takes the text in pieces. DataError: as read_trace, and a row that the target cannot
// state; the sink has nothing yet when it is the format or a row of the first pass.
Conversion convert_trace(const std::string& path, TraceTarget target,
                         const std::function<void(std::string_view text)>& sink,
                         SessionInput input = SessionInput::detect,
                         const std::string& columns = {});

}  // namespace headroom
