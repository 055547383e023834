#pragma once
// Whether the times of a trace can be in the unit that its format says: seconds in a column of
// nanoseconds make two hours of traffic a burst of microseconds.

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/kernel/time.hpp"
#include "workloads/traces/trace_record.hpp"

namespace headroom {

class TimeUnitCheck {
 public:
  // Of one row; a row without a time says nothing.
  void add(TimeNs time_ns) {
    if (time_ns == kNoTime) return;
    ++rows_;
    if (time_ns < first_ns_) first_ns_ = time_ns;
    if (time_ns > last_ns_) last_ns_ = time_ns;
  }

  // A warning where rows come so fast that the numbers in `column`, which should be nanoseconds,
  // are most likely seconds or milliseconds; empty where they do not, and for a format without such
  // a column.
  [[nodiscard]] std::string doubt(std::string_view column) const;

  // The same where the unit was guessed: rows that come too fast, or less than one in a month.
  [[nodiscard]] std::string odd_span() const;

 private:
  std::int64_t rows_ = 0;
  TimeNs first_ns_ = kNever;
  TimeNs last_ns_ = 0;
};

}  // namespace headroom
