#include "workloads/arrival_processes/rate_profiles.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/kernel/time.hpp"
#include "workloads/arrival_processes/option_range.hpp"

namespace headroom {
namespace {

constexpr int kDiurnalPieces = 1440;
constexpr double kMinExponentialRate = 1e-12;
constexpr double kTwoPi = 6.283185307179586477;

// sin(2 pi turns), |turns| < 4. The Taylor series ends after x^21: with |x| <= pi / 2 the rest is
// below 1e-18.
double sine_of_turns(double turns) {
  turns -= static_cast<double>(static_cast<int>(turns));  // in (-1, 1)
  if (turns > 0.5) turns -= 1.0;
  if (turns < -0.5) turns += 1.0;
  if (turns > 0.25) turns = 0.5 - turns;
  if (turns < -0.25) turns = -0.5 - turns;
  const double x = kTwoPi * turns;
  double sum = 1.0;
  for (int n = 20; n >= 2; n -= 2) sum = 1.0 - sum * x * x / (n * (n + 1));
  return sum * x;
}

}  // namespace

RatePiece ListedRate::next() {
  if (at_ == pieces_.size()) {
    if (!repeat_) return RatePiece::constant(std::numeric_limits<double>::infinity(), tail_rate_);
    at_ = 0;
  }
  return pieces_[at_++];
}

ListedRate piecewise_rate(const PiecewiseOptions& options) {
  const double tail = options.tail_rate_per_s;
  check_between("tail_rate_per_s", tail, 0.0, kMaxProfileRate, " requests/s");
  if (options.segments.empty()) throw ConfigError("arrivals: process piecewise needs segments");
  if (options.repeat && tail != 0.0) {
    throw ConfigError("arrivals: segments that repeat leave no time for tail_rate_per_s");
  }
  std::vector<RatePiece> pieces;
  pieces.reserve(options.segments.size());
  double highest = tail;
  for (const RateSegment& segment : options.segments) {
    check_above_0("the duration of a segment", segment.duration_s, kMaxProfileSeconds, " s");
    check_between("the rate of a segment", segment.rate_per_s, 0.0, kMaxProfileRate, " requests/s");
    pieces.push_back(
        RatePiece::constant(segment.duration_s * kNsPerSecondReal, segment.rate_per_s));
    highest = std::max(highest, segment.rate_per_s);
  }
  if (highest == 0.0) throw ConfigError("arrivals: the rates of all segments are 0");
  return options.repeat ? ListedRate::repeated(std::move(pieces))
                        : ListedRate::once(std::move(pieces), tail);
}

ListedRate diurnal_rate(double mean_rate_per_s, const DiurnalOptions& options) {
  check_above_0("the rate", mean_rate_per_s, kMaxProfileRate, " requests/s");
  check_between("amplitude", options.amplitude, 0.0, 1.0, "");
  check_above_0("period_s", options.period_s, kMaxProfileSeconds, " s");
  check_between("phase_s", options.phase_s, -options.period_s, options.period_s, " s");
  const double phase = options.phase_s / options.period_s;
  const auto rate_at = [&](int step) {
    const double turns = static_cast<double>(step % kDiurnalPieces) / kDiurnalPieces - phase;
    return mean_rate_per_s * std::max(1.0 + options.amplitude * sine_of_turns(turns), 0.0);
  };
  const double piece_ns = options.period_s * kNsPerSecondReal / kDiurnalPieces;
  std::vector<RatePiece> pieces;
  pieces.reserve(kDiurnalPieces);
  for (int step = 0; step < kDiurnalPieces; ++step) {
    pieces.push_back(RatePiece::linear(piece_ns, rate_at(step), rate_at(step + 1)));
  }
  return ListedRate::repeated(std::move(pieces));
}

ListedRate ramp_rate(double start_rate_per_s, const RampOptions& options) {
  const double end_rate = options.end_rate_per_s;
  const bool exponential = options.shape == RampShape::exponential;
  const double lowest = exponential ? kMinExponentialRate : 0.0;
  check_between("the rate", start_rate_per_s, lowest, kMaxProfileRate, " requests/s");
  check_between("end_rate_per_s", end_rate, lowest, kMaxProfileRate, " requests/s");
  check_above_0("ramp_s", options.ramp_s, kMaxProfileSeconds, " s");
  if (start_rate_per_s == 0.0 && end_rate == 0.0) {
    throw ConfigError("arrivals: both rates of the ramp are 0");
  }
  const double ramp_ns = options.ramp_s * kNsPerSecondReal;
  const RatePiece piece = exponential ? RatePiece::exponential(ramp_ns, start_rate_per_s, end_rate)
                                      : RatePiece::linear(ramp_ns, start_rate_per_s, end_rate);
  return ListedRate::once({piece}, end_rate);
}

}  // namespace headroom
