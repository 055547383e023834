#pragma once
// Fleets that no other fleet beats in everything.

#include <cstddef>
#include <span>
#include <vector>

namespace headroom {

// `points`: of equal size each, smaller is better in every place. For each point whether it is on
// the front: no other one is at least as good everywhere and better somewhere. Equal points are
// both on it.
[[nodiscard]] std::vector<bool> pareto_front(std::span<const std::vector<double>> points);

}  // namespace headroom
