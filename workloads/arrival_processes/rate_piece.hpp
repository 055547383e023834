#pragma once
// A stretch of time in which the arrival rate is constant, linear or exponential in time, and both
// directions of its integral: how many requests it expects, and how long a number of them takes.

#include <cstdint>

namespace headroom {

// Rates in requests per second, durations in nanoseconds.
class RatePiece {
 public:
  [[nodiscard]] static RatePiece constant(double duration_ns, double rate);  // infinity: for ever
  [[nodiscard]] static RatePiece linear(double duration_ns, double begin, double end);
  // rate(t) = begin * (end / begin)^(t / duration); both in 1e-12 .. 1e12.
  [[nodiscard]] static RatePiece exponential(double duration_ns, double begin, double end);

  [[nodiscard]] double duration_ns() const { return duration_ns_; }
  [[nodiscard]] bool lasts_for_ever() const;

  // Requests expected in the last `left_ns` of the piece.
  [[nodiscard]] double expected(double left_ns) const;
  // How long it takes, from `left_ns` before the end, until `requests` are expected; in
  // [0, left_ns]. 0 <= requests <= expected(left_ns).
  [[nodiscard]] double time_for(double requests, double left_ns) const;

 private:
  enum class Shape : std::uint8_t { constant, linear, exponential };

  RatePiece(Shape shape, double duration_ns, double end_per_ns, double change)
      : duration_ns_(duration_ns), end_per_ns_(end_per_ns), change_(change), shape_(shape) {}
  [[nodiscard]] double rate_per_ns(double left_ns) const;

  double duration_ns_;
  double end_per_ns_;  // rate at the end
  double change_;      // linear: per ns and ns; exponential: of the logarithm, per ns
  Shape shape_;
};

}  // namespace headroom
