#pragma once
// Seconds of users and files as simulated time.

#include "sim/kernel/check.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {

// Rounded to the nearest; 0 <= seconds < 9.2e9.
[[nodiscard]] inline TimeNs ns_from_seconds(double seconds) {
  HEADROOM_CHECK(seconds >= 0 && seconds < 9.2e9, "seconds beyond the range of TimeNs");
  return static_cast<TimeNs>(seconds * 1e9 + 0.5);
}

}  // namespace headroom
