#pragma once
// Timestamps in text, to the exact nanosecond: digits are read as integers, never as floating
// point.

#include <array>
#include <optional>
#include <string_view>

#include "sim/kernel/time.hpp"

namespace headroom {

// "YYYY-MM-DD hh:mm:ss", space or 'T' between, then optionally a fraction of 1 to 9 digits, then
// optionally Z or an offset +hh:mm, -hh:mm, +hhmm. Without an offset the time is UTC. Years 1970 to
// 2254 (what an int64 of ns holds); no leap second. ns since 1970-01-01 UTC; nothing when the text
// is anything else.
[[nodiscard]] std::optional<TimeNs> parse_timestamp(std::string_view text);

// The same for many timestamps, faster where they share the minute of the one before.
class TimestampParser {
 public:
  [[nodiscard]] std::optional<TimeNs> parse(std::string_view text);

 private:
  // The latest valid minute, as text and as ns.
  std::array<char, 17> minute_ = {'1', '9', '7', '0', '-', '0', '1', '-', '0',
                                  '1', ' ', '0', '0', ':', '0', '0', ':'};
  TimeNs minute_ns_ = 0;
};

}  // namespace headroom
