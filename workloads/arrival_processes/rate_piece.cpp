#include "workloads/arrival_processes/rate_piece.hpp"

#include <algorithm>
#include <limits>

#include "sim/kernel/det_math.hpp"
#include "workloads/small_argument.hpp"

namespace headroom {
namespace {

constexpr double kSecondsPerNs = 1e-9;

}  // namespace

RatePiece RatePiece::constant(double duration_ns, double rate) {
  return {Shape::constant, duration_ns, rate * kSecondsPerNs, 0.0};
}

RatePiece RatePiece::linear(double duration_ns, double begin, double end) {
  if (begin == end) return constant(duration_ns, end);
  return {Shape::linear, duration_ns, end * kSecondsPerNs,
          (end - begin) * kSecondsPerNs / duration_ns};
}

RatePiece RatePiece::exponential(double duration_ns, double begin, double end) {
  if (begin == end) return constant(duration_ns, end);
  return {Shape::exponential, duration_ns, end * kSecondsPerNs,
          det::log(end / begin) / duration_ns};
}

bool RatePiece::lasts_for_ever() const {
  return duration_ns_ == std::numeric_limits<double>::infinity();
}

double RatePiece::rate_per_ns(double left_ns) const {
  switch (shape_) {
    case Shape::constant: break;
    case Shape::linear: return std::max(end_per_ns_ - change_ * left_ns, 0.0);
    case Shape::exponential: return end_per_ns_ * det::exp(-change_ * left_ns);
  }
  return end_per_ns_;
}

double RatePiece::expected(double left_ns) const {
  switch (shape_) {
    case Shape::constant: break;
    case Shape::linear: return 0.5 * (rate_per_ns(left_ns) + end_per_ns_) * left_ns;
    // end - now = end * (1 - e^(-change * left)), over the change.
    case Shape::exponential: return -end_per_ns_ * exp_minus_1(-change_ * left_ns) / change_;
  }
  return end_per_ns_ == 0.0 ? 0.0 : end_per_ns_ * left_ns;  // infinity * 0 is nan
}

double RatePiece::time_for(double requests, double left_ns) const {
  if (requests == 0.0) return 0.0;
  const double now = rate_per_ns(left_ns);
  double time_ns = 0.0;
  switch (shape_) {
    case Shape::constant: time_ns = requests / now; break;
    case Shape::linear: {
      // now * t + change / 2 * t^2 = requests, by the form of the root that never cancels.
      const double square = std::max(now * now + 2.0 * change_ * requests, 0.0);
      time_ns = 2.0 * requests / (now + det::sqrt(square));
      break;
    }
    case Shape::exponential: {  // now / change * (e^(change * t) - 1) = requests
      const double grown = std::max(change_ * requests / now, -1.0 + 0x1p-53);
      time_ns = log_1_plus(grown) / change_;
      break;
    }
  }
  return std::min(time_ns, left_ns);
}

}  // namespace headroom
