#include "sim/serving/stop_queue.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "sim/kernel/check.hpp"

namespace headroom::stop_queue_test {
namespace {

constexpr RequestId kRequest = 7;

Stop stop_at(StepIndex decode, std::uint64_t admission, StepIndex step = 0) {
  return {.decode = decode, .step = step, .admission = admission, .id = kRequest};
}

StopQueue empty_queue() {
  StopQueue queue;
  queue.track(kRequest);
  return queue;
}

TEST_CASE("stops come by decode step, then step, then admission", "[stop_queue]") {
  StopQueue queue = empty_queue();
  for (const Stop& stop : {stop_at(5, 3), stop_at(5, 1), stop_at(9, 0), stop_at(5, 0, 8),
                           stop_at(5, 2), stop_at(1'000'000, 0), stop_at(0, 9)}) {
    queue.push(stop);
  }
  for (const Stop& stop : {stop_at(0, 9), stop_at(5, 1), stop_at(5, 2), stop_at(5, 3),
                           stop_at(5, 0, 8), stop_at(9, 0), stop_at(1'000'000, 0)}) {
    REQUIRE_FALSE(queue.empty());
    CHECK(queue.top() == stop);
    queue.pop();
  }
  CHECK(queue.empty());
}

TEST_CASE("a stop before what has begun is refused", "[stop_queue]") {
  StopQueue queue = empty_queue();
  queue.begin_at(10);
  queue.push(stop_at(10, 0));
  CHECK_THROWS_AS(queue.push(stop_at(9, 0)), InternalError);
  queue.clear();
  CHECK(queue.empty());
  CHECK_THROWS_AS(queue.pop(), InternalError);
}

TEST_CASE("stops of an earlier epoch are void", "[stop_queue]") {
  StopQueue queue = empty_queue();
  queue.track(kRequest + 1);
  queue.push(stop_at(3, 0));
  queue.push(stop_at(6, 0));
  Stop other = stop_at(5, 1);
  other.id = kRequest + 1;
  queue.push(other);
  queue.begin_epoch(kRequest);
  CHECK_FALSE(queue.empty());
  CHECK(queue.first_decode() == 5);
  queue.push(stop_at(4, 0));
  CHECK(queue.top().decode == 4);
  CHECK(queue.top().epoch == queue.epoch(kRequest));
  queue.pop();
  CHECK(queue.top() == other);
  queue.begin_epoch(kRequest + 1);
  CHECK(queue.empty());
  CHECK(queue.first_decode() == INT64_MAX);
}

TEST_CASE("random stops come as from a sorted set", "[stop_queue]") {
  const StepIndex reach = GENERATE(3, 100, 1'023, 1'024, 1'025, 5'000, 100'000);
  std::mt19937_64 random(static_cast<std::uint64_t>(reach));
  StopQueue queue = empty_queue();
  std::set<Stop> expected;
  StepIndex now = 0;
  std::uint64_t admission = 0;
  for (int i = 0; i < 50'000; ++i) {
    const auto draw = [&](StepIndex below) {
      return static_cast<StepIndex>(random() % static_cast<std::uint64_t>(below));
    };
    if (random() % 2 == 0) {
      const Stop stop = stop_at(now + draw(reach), ++admission, draw(8) == 0 ? now + draw(9) : 0);
      queue.push(stop);
      expected.insert(stop);
    } else if (!expected.empty()) {
      REQUIRE(queue.top() == *expected.begin());
      queue.pop();
      expected.erase(expected.begin());
    }
    if (draw(4) == 0) {  // time goes on, at most to the first stop
      now = expected.empty() ? now + draw(reach)
                             : std::min(now + draw(reach), expected.begin()->decode);
      queue.begin_at(now);
    }
    REQUIRE(queue.empty() == expected.empty());
    if (random() % 2 == 0) continue;  // the next change comes while the first one is not known
    REQUIRE(queue.first_decode() == (expected.empty() ? INT64_MAX : expected.begin()->decode));
  }
}

}  // namespace
}  // namespace headroom::stop_queue_test
