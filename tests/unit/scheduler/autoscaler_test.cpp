// Decisions of the Kubernetes HPA, by hand.

#include <catch2/catch.hpp>
#include <cstdint>

#include "scheduler/fleet/autoscaler.hpp"

namespace headroom::autoscaler_test {

namespace {

constexpr TimeNs kSecond = kNsPerSecond;

AutoscalerOptions plain() {
  AutoscalerOptions options;
  options.min_replicas = 1;
  options.max_replicas = 20;
  options.initial = 2;
  options.target = 10;
  options.down_window_ns = 0;
  return options;
}

// What one decision alone wants.
std::int64_t once(std::int64_t replicas, std::int64_t ready, double metric,
                  AutoscalerOptions options = plain()) {
  HorizontalAutoscaler policy(options);
  return policy.desired(
      {.now_ns = 15 * kSecond, .replicas = replicas, .ready = ready, .metric = metric});
}

class Series {
 public:
  explicit Series(const AutoscalerOptions& options)
      : policy_(options), replicas_(options.initial) {}
  std::int64_t at(std::int64_t second, double metric) {
    replicas_ = policy_.desired(
        {.now_ns = second * kSecond, .replicas = replicas_, .ready = replicas_, .metric = metric});
    return replicas_;
  }

 private:
  HorizontalAutoscaler policy_;
  std::int64_t replicas_;
};

}  // namespace

TEST_CASE("replicas are in proportion to the metric over its target, rounded up") {
  CHECK(once(2, 2, 20) == 4);
  CHECK(once(3, 3, 13) == 4);    // 3.9
  CHECK(once(4, 4, 2) == 1);     // 0.8
  CHECK(once(4, 4, 0) == 1);     // none is not allowed
  CHECK(once(4, 4, 900) == 20);  // 360
}

TEST_CASE("a ratio within the tolerance changes nothing") {
  CHECK(once(10, 10, 11) == 10);    // 1.1
  CHECK(once(10, 10, 9) == 10);     // 0.9
  CHECK(once(10, 10, 11.1) == 12);  // 11.1
  CHECK(once(10, 10, 8.9) == 9);    // 8.9
}

TEST_CASE("rounding of the quotient adds no replica") {
  AutoscalerOptions options = plain();
  options.target = 0.1;
  CHECK(once(3, 3, 0.3, options) == 9);  // 0.3 / 0.1 * 3 is above 9 in binary
}

// replica_calculator.go: not ready ones count as idle when the load is high ...
TEST_CASE("replicas that start already hold further ones back") {
  CHECK(once(4, 2, 20) == 4);  // 2 x 2 = 4: they are on their way
  CHECK(once(4, 2, 30) == 6);  // 3 x 2
  CHECK(once(4, 2, 15) == 4);  // 1.5 x 2 = 3 of 4: it would go down, against the ratio
  CHECK(once(4, 3, 5) == 2);   // ... and not at all when it is low: 0.5 x 3
}

TEST_CASE("fewer replicas wait for the greatest recommendation of the window") {
  AutoscalerOptions options = plain();
  options.down_window_ns = 60 * kSecond;
  Series series(options);
  CHECK(series.at(15, 40) == 8);  // 2 x 4
  CHECK(series.at(30, 5) == 8);   // 4 wanted; 8 at 15 s holds
  CHECK(series.at(45, 2) == 8);   // 2
  CHECK(series.at(60, 2) == 8);
  CHECK(series.at(75, 2) == 4);  // that of 15 s is as old as the window; 4 at 30 s holds
  CHECK(series.at(90, 4) == 2);  // 2 wanted, and before
}

TEST_CASE("more replicas wait for the least recommendation of the window") {
  AutoscalerOptions options = plain();
  options.up_window_ns = 30 * kSecond;
  Series series(options);
  CHECK(series.at(15, 40) == 2);  // 8 wanted; 2 at the start
  CHECK(series.at(30, 30) == 6);  // 6 wanted; 8 at 15 s; that of 0 s is 30 s old
}

TEST_CASE("the number at the start is the first recommendation") {
  AutoscalerOptions options = plain();
  options.initial = 6;
  options.down_window_ns = 60 * kSecond;
  Series series(options);
  CHECK(series.at(15, 1) == 6);
  CHECK(series.at(59, 1) == 6);
  CHECK(series.at(60, 1) == 1);
}

TEST_CASE("no more replicas come and go within a period than allowed") {
  AutoscalerOptions options = plain();
  options.up_most = 3;
  options.down_most = 2;
  options.period_ns = 60 * kSecond;
  Series series(options);
  CHECK(series.at(15, 90) == 5);
  CHECK(series.at(30, 90) == 5);
  CHECK(series.at(75, 90) == 8);  // those of 15 s are 60 s ago
  CHECK(series.at(140, 1) == 6);
  CHECK(series.at(155, 1) == 6);
  CHECK(series.at(200, 1) == 4);
}

}  // namespace headroom::autoscaler_test
