#pragma once
// The quantile function of a lognormal law, fast: cubic interpolation between exact nodes where the
// law is smooth, the exact formula in both tails (1/32 of the draws each).

#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/kernel/likely.hpp"

namespace headroom {

inline constexpr double kMaxLognormalSigma = 10.0;  // the range that users may set

class LognormalQuantile {
 public:
  // median > 0; sigma >= 0. Relative error below 1e-6: far below the rounding to whole tokens.
  LognormalQuantile(double median, double sigma);

  [[nodiscard]] double operator()(double probability) const {  // in (0, 1)
    const double place = probability * static_cast<double>(kCells);
    const auto whole = static_cast<std::int64_t>(place);  // signed: conversions without a branch
    const auto cell = static_cast<std::size_t>(whole);
    // Unsigned: one comparison for both tails.
    if (rarely(cell - kTailCells >= smooth_cells_)) return exact(probability);
    const double t = place - static_cast<double>(whole);  // Lagrange through -1, 0, 1, 2
    const double* node = &nodes_[cell - kTailCells];
    const double low = (t - 1.0) * (t - 2.0);
    const double high = (t + 1.0) * t;
    return (high * (t - 1.0) * node[3] - t * low * node[0]) / 6.0 +
           ((t + 1.0) * low * node[1] - high * (t - 2.0) * node[2]) / 2.0;
  }

  [[nodiscard]] double exact(double probability) const;

 private:
  static constexpr std::size_t kCells = 1024;
  static constexpr std::size_t kTailCells = 32;
  static constexpr std::size_t kSmoothCells = kCells - 2 * kTailCells;

  double log_median_;
  double sigma_;
  std::size_t smooth_cells_ = 0;  // 0: the law is too wide for the table
  std::array<double, kSmoothCells + 3> nodes_{};
};

}  // namespace headroom
