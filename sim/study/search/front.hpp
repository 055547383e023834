#pragma once
// Fronts: points of a study that no other point beats in two metrics.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/study/search/search.hpp"
#include "sim/study/store/search_rows.hpp"

namespace headroom {

// A point's means; nothing where it lacks a metric.
struct FrontPoint {
  std::int64_t point = 0;
  std::optional<std::vector<double>> values;  // by objective
};

struct FrontPlace {
  std::int64_t point = 0;
  bool is_left_out = false;                  // it has no values
  std::optional<std::int64_t> dominated_by;  // at least as good in both, better in one
};

// In the order of `points`. Points with equal values do not dominate each other.
[[nodiscard]] std::vector<FrontPlace> front_of(const std::vector<Objective>& objectives,
                                               const std::vector<FrontPoint>& points);

// Rows for all fronts of the study in a complete file of results (`database`), one for each point:
// `front`, `dominated` or `left_out`. A point counts where all its replications have both metrics.
[[nodiscard]] std::vector<StoredSearch> front_rows(const std::vector<Search>& searches,
                                                   std::int64_t points, std::int64_t replications,
                                                   const Database& database);

}  // namespace headroom
