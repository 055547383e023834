#pragma once
// Arrival rates that are known functions of time: a list of segments, a day's wave, a ramp. All are
// lists of pieces over which the rate is integrated and inverted in closed form.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/arrival_processes/rate_piece.hpp"

namespace headroom {

// Pieces one after the other, from 0 on.
class ListedRate {
 public:
  // Repeated without end; or once, and `tail_rate` requests/s for ever after.
  static ListedRate repeated(std::vector<RatePiece> pieces) { return {std::move(pieces), true, 0}; }
  static ListedRate once(std::vector<RatePiece> pieces, double tail_rate) {
    return {std::move(pieces), false, tail_rate};
  }

  [[nodiscard]] RatePiece next();

 private:
  ListedRate(std::vector<RatePiece> pieces, bool repeat, double tail_rate)
      : pieces_(std::move(pieces)), repeat_(repeat), tail_rate_(tail_rate) {}

  std::vector<RatePiece> pieces_;
  std::size_t at_ = 0;
  bool repeat_;
  double tail_rate_;
};

struct RateSegment {
  double duration_s = 1.0;  // above 0, at most 1e9 s
  double rate_per_s = 0.0;  // 0 .. 1e12 requests/s; 0 = none come
};

struct PiecewiseOptions {
  std::vector<RateSegment> segments = {};  // at least one; some rate (or the tail's) above 0
  bool repeat = false;                     // start again after the last segment
  // Without repeat: requests/s from the end of the last segment on, 0 .. 1e12. 0: the process ends
  // there. With repeat it must be 0.
  double tail_rate_per_s = 0.0;
};

// rate(t) = mean * (1 + amplitude * sin(2 pi (t - phase) / period)), linear between 1440 equal
// steps a period (a minute of a day): off by at most 2.4e-6 of the mean, and by nothing on the
// whole period.
struct DiurnalOptions {
  double amplitude = 0.5;     // 0 .. 1; 1: the rate falls to 0
  double period_s = 86400.0;  // above 0, at most 1e9 s
  double phase_s = 0.0;       // -period .. period: the rate rises through its mean here
};

enum class RampShape : std::uint8_t {
  linear,      // as many requests/s more in each second
  exponential  // by the same factor in each second
};

// From the rate of the arrival options at time 0 to `end_rate_per_s` at `ramp_s`, constant
// afterwards (0: the process ends there). The rate is a function of time. The strategies of the
// same names of `vllm bench serve --ramp-up-strategy` (vllm/benchmarks/serve.py,
// _get_current_request_rate) are functions of the request's number instead: with those a linear
// ramp is exponential in time.
struct RampOptions {
  // Both rates: 0 .. 1e12 requests/s, not both 0; exponential: 1e-12 .. 1e12.
  double end_rate_per_s = 1.0;
  double ramp_s = 60.0;  // above 0, at most 1e9 s
  RampShape shape = RampShape::linear;
};

// All: ConfigError naming the option.
[[nodiscard]] ListedRate piecewise_rate(const PiecewiseOptions& options);
[[nodiscard]] ListedRate diurnal_rate(double mean_rate_per_s, const DiurnalOptions& options);
[[nodiscard]] ListedRate ramp_rate(double start_rate_per_s, const RampOptions& options);

}  // namespace headroom
