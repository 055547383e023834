#include "sim/traces/trace_arrivals.hpp"

#include <algorithm>

#include "sim/kernel/wide_sum.hpp"
#include "sim/metrics/statistics.hpp"

namespace headroom {

void ArrivalMeter::start(TimeNs time_ns) {
  first_ns_ = time_ns;
  latest_ns_ = time_ns;
  ties_ = -1;  // the first arrival is no tie with itself
}

void ArrivalMeter::open_minute(std::uint64_t since_first) {
  peak_ = std::max(peak_, in_minute_);
  in_minute_ = 0;
  const std::uint64_t minute = since_first / kMinuteNs;
  empty_minutes_ += static_cast<std::int64_t>(minute - minute_end_ / kMinuteNs);
  minute_end_ = (minute + 1) * kMinuteNs;
}

ArrivalStats ArrivalMeter::stats() const {
  ArrivalStats stats;
  if (arrivals_ == 0) return stats;
  stats.arrivals = arrivals_;
  stats.first_ns = first_ns_;
  stats.span_ns = latest_ns_ - first_ns_;
  stats.peak_minute_arrivals = std::max(peak_, in_minute_);
  stats.minutes = static_cast<std::int64_t>(minute_end_ / kMinuteNs);
  stats.empty_minutes = empty_minutes_;
  stats.ties = ties_;
  stats.longest_silence_ns = static_cast<TimeNs>(longest_);
  if (stats.span_ns == 0) return stats;

  const auto span_ns = static_cast<double>(stats.span_ns);
  const auto arrivals = static_cast<double>(arrivals_);
  stats.rate_per_s = arrivals / (span_ns / static_cast<double>(kNsPerSecond));
  const std::int64_t gaps = arrivals_ - 1;
  WideSum squares;
  squares.add(squares_, 1);
  const double mean_gap = span_ns / static_cast<double>(gaps);
  stats.gap_cv = population_std(gaps, stats.span_ns, squares) / mean_gap;
  if (static_cast<std::uint64_t>(stats.span_ns) >= kMinuteNs) {
    const double peak_rate = static_cast<double>(stats.peak_minute_arrivals) / 60;
    stats.peak_to_mean = peak_rate / *stats.rate_per_s;
  }
  return stats;
}

}  // namespace headroom
