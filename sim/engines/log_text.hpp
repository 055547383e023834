#pragma once
// Reads figures from log lines with any prefix: time stamps, process tags, colours, the service
// name of docker compose.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headroom {

struct LogLine {
  std::string text;         // without colours and line end
  std::int64_t number = 0;  // in the file, from 1
  std::string rank;         // rank_of(text)
};

// Without ANSI colours, whole ("ESC[1;36m"), as syslog escapes them ("#033[1;36m") or with the ESC
// lost ("[1;36m"), and without a carriage return at the end.
[[nodiscard]] std::string without_colours(std::string_view raw);

// Who wrote the line, by its tag: "Worker_TP0" of "(Worker_TP0 pid=23802)", "RANK 1" of "[RANK 1]",
// "VllmWorkerProcess pid=521", whose number is its only name. Empty for a line of the whole engine.
[[nodiscard]] std::string rank_of(std::string_view text);

// Whether `pattern` occurs in `text`. In a pattern `#` matches a number, which is written to
// `numbers` in order (with commas between thousands: 476,016), a blank matches any number of blanks
// or none, `*` matches anything up to the next piece, and the rest matches itself. A pattern begins
// with neither of the three. `numbers` is written only when the pattern occurs.
[[nodiscard]] bool find_pattern(std::string_view text, std::string_view pattern,
                                std::span<double> numbers);
inline constexpr std::size_t kMaxPatternNumbers = 8;

[[nodiscard]] inline bool contains(std::string_view text, std::string_view piece) {
  return text.find(piece) != std::string_view::npos;
}

// The value of a Python setting written `key=value` or `'key': value`, without quotes and "torch.".
// Nothing when the key does not occur as a whole word or its value is None or empty.
[[nodiscard]] std::optional<std::string> python_value(std::string_view text, std::string_view key);

// A figure that counts something: without its fraction, at most 2^62 whatever the log says.
[[nodiscard]] std::int64_t to_count(double number);

// `text` from `message` on, or all of it where the message is broken over lines.
[[nodiscard]] std::string from_message(std::string_view text, std::string_view message);

}  // namespace headroom
