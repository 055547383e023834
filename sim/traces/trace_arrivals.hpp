#pragma once
// How bursty the arrivals of a trace are: gaps and aligned minutes, from their times in order.

#include <cstdint>
#include <optional>

#include "sim/kernel/time.hpp"

namespace headroom {

// Minutes are windows of 60 s from the first arrival on; the last one may be cut short.
struct ArrivalStats {
  std::int64_t arrivals = 0;
  TimeNs first_ns = 0;               // by the clock of the file
  TimeNs span_ns = 0;                // first to last arrival
  std::optional<double> rate_per_s;  // arrivals / span; none when the span is 0
  std::optional<double> gap_cv;      // std / mean of the gaps (all of them: a population)
  // Arrivals of the busiest minute / (60 s x rate); none when the span is below a minute.
  std::optional<double> peak_to_mean;
  std::int64_t peak_minute_arrivals = 0;
  std::int64_t minutes = 0;
  std::int64_t empty_minutes = 0;
  std::int64_t ties = 0;          // arrivals at the same time as the one before
  TimeNs longest_silence_ns = 0;  // largest gap
};

class ArrivalMeter {
 public:
  // time_ns >= 0, and >= the one before.
  void add(TimeNs time_ns) {
    if (arrivals_ == 0) start(time_ns);
    ++arrivals_;
    const auto gap = static_cast<std::uint64_t>(time_ns - latest_ns_);
    latest_ns_ = time_ns;
    // All gaps add up to the span, so their squares to less than 2^126.
    squares_ += Uint128{gap} * gap;
    ties_ += gap == 0 ? 1 : 0;
    longest_ = gap > longest_ ? gap : longest_;
    const auto since_first = static_cast<std::uint64_t>(time_ns - first_ns_);
    if (since_first >= minute_end_) open_minute(since_first);
    ++in_minute_;
  }

  [[nodiscard]] ArrivalStats stats() const;

 private:
  static constexpr std::uint64_t kMinuteNs = 60'000'000'000;

  void start(TimeNs time_ns);
  void open_minute(std::uint64_t since_first);

  std::int64_t arrivals_ = 0;
  TimeNs first_ns_ = 0;
  TimeNs latest_ns_ = 0;
  Uint128 squares_ = 0;
  std::int64_t ties_ = 0;
  std::uint64_t longest_ = 0;
  std::uint64_t minute_end_ = kMinuteNs;  // since the first arrival
  std::int64_t in_minute_ = 0;
  std::int64_t peak_ = 0;  // of the minutes before
  std::int64_t empty_minutes_ = 0;
};

}  // namespace headroom
