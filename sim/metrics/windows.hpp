#pragma once
// Warm-up, steady state and drain apart, and whether there was a steady state at all.

#include <array>
#include <optional>
#include <span>

#include "sim/kernel/digest.hpp"
#include "sim/metrics/serving_metrics.hpp"

namespace headroom {

// Seconds after the first arrival.
struct WindowOptions {
  std::optional<double> warmup_s = {};      // default: 10 % of the span of the arrivals
  std::optional<double> steady_end_s = {};  // default: the last arrival (included)
};

// Requests that arrived in [start, end). The drain begins after the steady window and ends with the
// run; by default no request arrives in it (the last request belongs to the steady window).
struct WindowReport {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  std::int64_t arrived = 0;
  std::int64_t finished_inside = 0;  // left with all tokens in the window, whenever they arrived
  double arrival_rate = 0;           // 1/s
  double finish_rate = 0;            // 1/s, of finished_inside
  ServingMetrics metrics = {};       // of those that arrived in it; without ITL
};

// Number of requests in system, averaged over the thirds of the steady window. The run is called
// *not stationary* when the mean grows from third to third, and the last one exceeds the first by
// more than 25 % and by more than 4 * sqrt(first) + 1. Reasons: a backlog that keeps growing makes
// all three differ, with ratios near 1 : 3 : 5 from an empty start; 25 % spares slow, harmless
// drifts of large systems; the number in a stable system fluctuates by about the square root of its
// mean (exact for M/G/inf), so 4 of those are no accident, and 1 keeps nearly empty systems out.
// Close to saturation (above 95 %) a stable run may need more time than it was given to pass.
struct Stationarity {
  bool stationary = true;
  std::array<Int128, 3> integral_ns{};  // requests x ns
  std::array<double, 3> mean_in_system{};
};

struct WindowSummary {
  WindowReport warmup;
  WindowReport steady;
  WindowReport drain;
  Stationarity stationarity;  // of the steady window
};

// `arrived` and `finished_inside` over the length of the window.
void set_rates(WindowReport& report);
// Means and verdict from the integrals over thirds of these lengths; none of them empty.
void judge(Stationarity& result, const std::array<TimeNs, 3>& length_ns);

// All but their metrics. `records` in order of arrival; the run ended at `end_ns`. Every request
// arrived in one of the windows. If `digest` is given, each record is added to it in the same pass:
// a pass of its own would wait for the multiplications of the digest.
[[nodiscard]] WindowSummary windows_of(std::span<const RequestRecord> records, TimeNs end_ns,
                                       const WindowOptions& windows, Digest* digest = nullptr);

}  // namespace headroom
