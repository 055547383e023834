// Percentiles of what has come since the last look.

#include <catch2/catch.hpp>
#include <cstddef>
#include <vector>

#include "sim/serving/latency_window.hpp"

namespace headroom::latency_window_test {

TEST_CASE("a percentile lies between its two neighbours") {
  LatencyWindow window;
  CHECK_FALSE(window.percentile(50));
  for (const TimeNs ns : {40, 10, 30, 20}) window.add(ns);
  CHECK(window.percentile(0) == 10);
  CHECK(window.percentile(50) == 25);
  CHECK(window.percentile(90) == Approx(37));  // rank 2.7 from 0
  CHECK(window.percentile(100) == 40);
  window.add(50);  // after a look
  CHECK(window.percentile(50) == 30);
  window.clear();
  CHECK_FALSE(window.percentile(50));
  window.add(7);
  CHECK(window.percentile(95) == 7);
}

TEST_CASE("a long window is bounded, and off by half a thousandth at most") {
  LatencyWindow window;
  const auto count = static_cast<TimeNs>(2 * LatencyWindow::kMostExact);
  for (TimeNs i = 0; i < count; ++i) window.add(1'000'000 + 1'000 * i);
  const double exact = 1e6 + 1e3 * 0.95 * static_cast<double>(count - 1);
  CHECK(*window.percentile(95) == Approx(exact).epsilon(0.001));
  CHECK(*window.percentile(95) != exact);
  window.clear();
  window.add(1'000'001);  // exact again
  CHECK(window.percentile(95) == 1'000'001);
}

}  // namespace headroom::latency_window_test
