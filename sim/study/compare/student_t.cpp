#include "sim/study/compare/student_t.hpp"

#include <array>
#include <cmath>
#include <cstddef>

#include "sim/kernel/check.hpp"

namespace headroom {

double student_t_975(int degrees) {
  HEADROOM_CHECK(degrees >= 1, "an interval needs two values");
  // Any textbook's table; beyond 30, the first term of the expansion in 1 / degrees.
  constexpr std::array kTable{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                              2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                              2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                              2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  const auto row = static_cast<std::size_t>(degrees - 1);
  return row < kTable.size() ? kTable[row] : 1.960 + 2.46 / degrees;
}

MeanInterval mean_interval(std::span<const double> values) {
  HEADROOM_CHECK(!values.empty(), "the mean of nothing");
  const auto count = static_cast<double>(values.size());
  MeanInterval interval;
  for (const double value : values) interval.mean += value / count;
  if (values.size() < 2) return interval;
  double squares = 0;
  for (const double value : values) {
    squares += (value - interval.mean) * (value - interval.mean);
  }
  interval.half_width =
      student_t_975(static_cast<int>(values.size()) - 1) * std::sqrt(squares / (count - 1) / count);
  return interval;
}

}  // namespace headroom
