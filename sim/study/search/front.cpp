#include "sim/study/search/front.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/scenario/json_document.hpp"

namespace headroom {
namespace {

// Of the first objective, then of the second: better ones first.
bool is_better(const std::vector<Objective>& objectives, const FrontPoint& a, const FrontPoint& b) {
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const double in_a = (*a.values)[i];
    const double in_b = (*b.values)[i];
    if (in_a != in_b) return objectives[i].maximize ? in_a > in_b : in_a < in_b;
  }
  return a.point < b.point;
}

std::vector<FrontPoint> points_of(const Search& search, std::int64_t points,
                                  std::int64_t replications, const Database& database) {
  std::vector<FrontPoint> all(static_cast<std::size_t>(points));
  std::vector<std::vector<double>> means(all.size());
  for (const Objective& objective : search.front) {
    for (const MetricSum& sum : read_sums(database, objective.metric)) {
      if (sum.runs != replications) continue;
      means.at(static_cast<std::size_t>(sum.point))
          .push_back(sum.sum / static_cast<double>(sum.runs));
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].point = static_cast<std::int64_t>(i);
    if (means[i].size() == search.front.size()) all[i].values = means[i];
  }
  return all;
}

}  // namespace

std::vector<FrontPlace> front_of(const std::vector<Objective>& objectives,
                                 const std::vector<FrontPoint>& points) {
  std::vector<FrontPlace> places(points.size());
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i) {
    places[i].point = points[i].point;
    places[i].is_left_out = !points[i].values;
    if (points[i].values) order.push_back(i);
  }
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return is_better(objectives, points[a], points[b]);
  });
  // In this order nothing is beaten by what comes later; of what came before, the point that is
  // best in the second metric decides.
  const auto second = [&](std::size_t i) {
    const double value = (*points[i].values)[1];
    return objectives[1].maximize ? value : -value;
  };
  std::optional<std::size_t> best;
  for (const std::size_t i : order) {
    const bool is_equal = best && *points[i].values == *points[*best].values;
    if (!best || second(i) > second(*best) || is_equal) {
      best = i;
    } else {
      places[i].dominated_by = points[*best].point;
    }
  }
  return places;
}

std::vector<StoredSearch> front_rows(const std::vector<Search>& searches, std::int64_t points,
                                     std::int64_t replications, const Database& database) {
  std::vector<StoredSearch> rows;
  for (std::size_t number = 0; number < searches.size(); ++number) {
    const Search& search = searches[number];
    if (!search.is_front()) continue;
    const std::vector<FrontPoint> all = points_of(search, points, replications, database);
    const std::vector<FrontPlace> places = front_of(search.front, all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      StoredSearch row;
      row.search = static_cast<std::int64_t>(number);
      row.point = all[i].point;
      row.name = search.name;
      row.kind = name_of(search.kind);
      row.status = places[i].is_left_out ? "left_out" : "front";
      Json detail = Json::object();
      if (all[i].values) row.value = all[i].values->front();
      for (std::size_t k = 0; all[i].values && k < search.front.size(); ++k) {
        detail["means"][search.front[k].metric] = (*all[i].values)[k];
      }
      if (places[i].dominated_by) {
        row.status = "dominated";
        detail["dominated_by"] = *places[i].dominated_by;
      }
      row.detail = detail.dump();
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace headroom
