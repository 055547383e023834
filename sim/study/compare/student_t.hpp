#pragma once
// Intervals of 95 % around means of few values.

#include <span>

namespace headroom {

// 97.5 % of Student's t, to 3 digits; `degrees` >= 1.
[[nodiscard]] double student_t_975(int degrees);

struct MeanInterval {
  double mean = 0;
  double half_width = 0;  // 0 for one value: nothing is known then
};
// At least one value.
[[nodiscard]] MeanInterval mean_interval(std::span<const double> values);

}  // namespace headroom
