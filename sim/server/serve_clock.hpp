#pragma once
// Simulated time by the wall clock. It begins to pass with the first request, as in a run.

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "sim/kernel/time.hpp"

namespace headroom {

class ServeClock {
 public:
  // `wall_ns`: never goes back. `scale` > 0: simulated nanoseconds in one of the wall clock.
  ServeClock(std::function<TimeNs()> wall_ns, double scale)
      : wall_ns_(std::move(wall_ns)), scale_(scale) {}

  [[nodiscard]] bool runs() const { return begin_ns_.has_value(); }
  void begin() {
    if (!runs()) begin_ns_ = frozen_ns_.value_or(wall_ns_());
  }
  // No simulated time passes while it is frozen.
  void freeze(bool frozen) {
    if (frozen == frozen_ns_.has_value()) return;
    if (frozen) {
      frozen_ns_ = wall_ns_();
    } else {
      if (runs()) *begin_ns_ += wall_ns_() - *frozen_ns_;
      frozen_ns_.reset();
    }
  }
  // 0 before it runs.
  [[nodiscard]] TimeNs now_ns() const {
    if (!runs()) return 0;
    const TimeNs wall_ns = frozen_ns_.value_or(wall_ns_());
    return static_cast<TimeNs>(static_cast<double>(wall_ns - *begin_ns_) * scale_);
  }
  // When now_ns() will have reached `time_ns`; kNever for kNever, and while it is frozen.
  [[nodiscard]] TimeNs wall_of(TimeNs time_ns) const {
    if (!runs() || frozen_ns_ || time_ns == kNever) return kNever;
    const double after = static_cast<double>(time_ns) / scale_;
    return after > kLongest ? kNever : *begin_ns_ + static_cast<TimeNs>(after) + 1;
  }

 private:
  static constexpr double kLongest = 1e18;

  std::function<TimeNs()> wall_ns_;
  double scale_;
  std::optional<TimeNs> begin_ns_;
  std::optional<TimeNs> frozen_ns_;
};

}  // namespace headroom
