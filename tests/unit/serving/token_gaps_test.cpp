#include "sim/serving/token_gaps.hpp"

#include <catch2/catch.hpp>

#include "sim/kernel/check.hpp"

namespace headroom::token_gaps_test {
namespace {

TEST_CASE("gaps over a pause count from each row's latest token", "[token_gaps]") {
  TokenGaps gaps;
  CHECK_FALSE(gaps.paused());
  CHECK(gaps.latest_token(3, 90) == 90);
  // Steps 7 and 8 run beside 5 and 6 decoding rows that stand by; step 7 lets one begin.
  gaps.pause(7, 5, 1, 100, 140);
  gaps.pause(8, 6, 0, 140, 150);
  CHECK(gaps.paused());
  CHECK(gaps.latest_token(3, 150) == 100);
  CHECK(gaps.latest_token(7, 150) == 140);
  gaps.leave_pause(3);
  gaps.add_over_pause(200, 5);
  REQUIRE(gaps.groups().size() == 2);
  CHECK(gaps.groups()[0].gap == 100);
  CHECK(gaps.groups()[0].tokens == 4);
  CHECK(gaps.groups()[1].gap == 60);
  CHECK(gaps.groups()[1].tokens == 1);
  gaps.shift(10);
  CHECK(gaps.groups()[1].gap == 70);
  CHECK_THROWS_AS(gaps.add_over_pause(200, 4), InternalError);
  gaps.end_pause();
  CHECK_FALSE(gaps.paused());
}

}  // namespace
}  // namespace headroom::token_gaps_test
