#include "sim/study/search/front.hpp"

#include <catch2/catch.hpp>

#include <random>

namespace headroom::search_front_test {

namespace {

const std::vector<Objective> kObjectives{{"output_throughput", true}, {"p99_tpot_ms", false}};

FrontPoint point(std::int64_t number, double throughput, double latency) {
  return {number, std::vector<double>{throughput, latency}};
}

bool beats(const FrontPoint& a, const FrontPoint& b) {
  const auto& x = *a.values;
  const auto& y = *b.values;
  return x[0] >= y[0] && x[1] <= y[1] && x != y;
}

}  // namespace

TEST_CASE("on a front nothing is better in one metric without being worse in the other") {
  const std::vector<FrontPlace> places = front_of(kObjectives, {point(0, 100, 10),
                                                                point(1, 200, 20),
                                                                point(2, 150, 20),
                                                                point(3, 200, 25),
                                                                point(4, 50, 10),
                                                                {5, {}}});
  CHECK_FALSE(places[0].dominated_by);
  CHECK_FALSE(places[1].dominated_by);
  CHECK(places[2].dominated_by == 1);
  CHECK(places[3].dominated_by == 1);
  CHECK(places[4].dominated_by == 0);
  CHECK(places[5].is_left_out);
}

TEST_CASE("equal points stand on the front together") {
  const auto places = front_of(kObjectives, {point(0, 1, 1), point(1, 1, 1), point(2, 1, 2)});
  CHECK_FALSE(places[0].dominated_by);
  CHECK_FALSE(places[1].dominated_by);
  CHECK(places[2].dominated_by);
}

TEST_CASE("a front equals the comparison of all pairs") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<FrontPoint> points;
    for (std::int64_t i = 0; i < 12; ++i) {
      const auto first = static_cast<double>(random() % 6);
      const auto second = static_cast<double>(random() % 6);
      points.push_back(point(i, first, second));
    }
    const std::vector<FrontPlace> places = front_of(kObjectives, points);
    for (std::size_t i = 0; i < points.size(); ++i) {
      bool beaten = false;
      for (const FrontPoint& other : points) beaten = beaten || beats(other, points[i]);
      REQUIRE(places[i].dominated_by.has_value() == beaten);
      if (!beaten) continue;
      REQUIRE(beats(points[static_cast<std::size_t>(*places[i].dominated_by)], points[i]));
    }
  }
}

}  // namespace headroom::search_front_test
