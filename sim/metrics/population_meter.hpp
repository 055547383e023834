#pragma once
// The number of requests in the system, integrated over time as they come and go. Against the
// records this is Little's law on the sample path (VERIFICATION V0.8).

#include <cstdint>

#include "sim/kernel/time.hpp"
#include "sim/metrics/record_totals.hpp"

namespace headroom {

class PopulationMeter {
 public:
  void enter(TimeNs t) {
    advance(t);
    ++present_;
  }
  void leave(TimeNs t) {
    advance(t);
    --present_;
  }
  void advance(TimeNs t) {
    integral_ += static_cast<Int128>(present_) * (t - last_ns_);
    last_ns_ = t;
  }

  [[nodiscard]] std::int64_t present() const { return present_; }
  [[nodiscard]] Int128 integral_ns() const { return integral_; }

 private:
  TimeNs last_ns_ = 0;
  std::int64_t present_ = 0;
  Int128 integral_ = 0;
};

// A bug of ours if it fails: a request entered without leaving a record, or left twice, or at
// another time than its record says.
void check_littles_law(const PopulationMeter& meter, const RecordTotals& totals, TimeNs end_ns);

}  // namespace headroom
