#include "sim/study/plan/plan_front.hpp"

#include <algorithm>

namespace headroom {
namespace {

bool beats(const std::vector<double>& a, const std::vector<double>& b) {
  bool better = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    better = better || a[i] < b[i];
  }
  return better;
}

}  // namespace

std::vector<bool> pareto_front(std::span<const std::vector<double>> points) {
  std::vector<bool> on_front;
  for (const std::vector<double>& point : points) {
    on_front.push_back(std::ranges::none_of(
        points, [&](const std::vector<double>& other) { return beats(other, point); }));
  }
  return on_front;
}

}  // namespace headroom
