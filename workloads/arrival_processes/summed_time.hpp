#pragma once
// An instant as whole nanoseconds and a fraction of one, so that sums of any length lose nothing
// and are rounded once, when they are handed out.

#include "sim/kernel/time.hpp"

namespace headroom {

class SummedTime {
 public:
  // 0 <= ns, and the sum stays below 2^63 ns: callers check.
  void add(double ns) {
    const auto whole = static_cast<TimeNs>(ns);
    whole_ns_ += whole;
    fraction_ns_ += ns - static_cast<double>(whole);
    // Without a branch, which could not be foreseen.
    const auto carry = static_cast<TimeNs>(fraction_ns_);  // 0 or 1
    fraction_ns_ -= static_cast<double>(carry);
    whole_ns_ += carry;
  }

  [[nodiscard]] TimeNs whole_ns() const { return whole_ns_; }
  // To the nearest nanosecond, halves up.
  [[nodiscard]] TimeNs rounded_ns() const { return whole_ns_ + (fraction_ns_ >= 0.5 ? 1 : 0); }
  [[nodiscard]] double since(const SummedTime& earlier) const {
    return static_cast<double>(whole_ns_ - earlier.whole_ns_) +
           (fraction_ns_ - earlier.fraction_ns_);
  }

 private:
  TimeNs whole_ns_ = 0;
  double fraction_ns_ = 0.0;  // in [0, 1)
};

}  // namespace headroom
