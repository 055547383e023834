#pragma once
// Counts at which times are looked up; between them they are linear.

#include <cstdint>
#include <vector>

namespace headroom {

// Powers of two and points between them, `parts` to the next, up to the first that is not below
// `last`.
[[nodiscard]] inline std::vector<std::int64_t> grid_to(std::int64_t last, std::int64_t parts) {
  std::vector<std::int64_t> points;
  for (std::int64_t power = 1;; power *= 2) {
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t point = power + power * part / parts;
      if (points.empty() || point > points.back()) points.push_back(point);
      if (point >= last) return points;
    }
  }
}

}  // namespace headroom
