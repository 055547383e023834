#pragma once
// How fast the number of requests in the system grows in the steady window, with an interval.

#include <optional>
#include <span>

#include "sim/metrics/windows.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

// Requests per second. The interval is one of 95 %, if means of neighbouring batches depend on each
// other no further than by their lag-1 correlation.
struct BacklogSlope {
  double per_s = 0;
  double low_per_s = 0;
  double high_per_s = 0;
};

// The least-squares line through the means of 20 equal batches of `window`; the variance of its
// slope is widened by (1 + r) / (1 - r), r the lag-1 correlation of what the line leaves (0 to
// 0.9). Empty when the window has less than 20 ns. `records` as in windows_of.
[[nodiscard]] std::optional<BacklogSlope> backlog_slope(std::span<const RequestRecord> records,
                                                        const WindowReport& window);

}  // namespace headroom
