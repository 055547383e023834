#pragma once
// `headroom trace describe|check|convert`: what a trace file holds, whether it is usable, and the
// same in another format.

#include <cstdint>
#include <optional>
#include <string>

namespace headroom {

struct TraceArguments {
  std::string file;
  std::string session_input = "auto";  // or whole, added
  bool json = false;
  // describe
  std::int64_t kv_tokens = 100'000;           // of the pool for the comparison of max_tokens rules
  std::optional<std::int64_t> max_model_len;  // tokens; absent: the longest request's power of two
  // convert
  std::string output;           // "-": standard output
  std::string to = "headroom";  // or mooncake
};

// What to print. ConfigError: an option or the output; DataError: the trace.
[[nodiscard]] std::string trace_describe_command(const TraceArguments& arguments);
[[nodiscard]] std::string trace_check_command(const TraceArguments& arguments);
// With the output on standard output the answer is there already: then it is empty, and what was
// done to the rows is said on standard error.
[[nodiscard]] std::string trace_convert_command(const TraceArguments& arguments);

}  // namespace headroom
