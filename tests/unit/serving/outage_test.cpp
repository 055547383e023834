#include "sim/serving/outage.hpp"

#include <catch2/catch.hpp>

namespace headroom::outage_test {
namespace {

TEST_CASE("an outage ends once, at the first planning instant after it", "[outage]") {
  Outage outage;
  CHECK_FALSE(outage.lasts_at(0));
  CHECK_FALSE(outage.try_end(0));
  outage.begin(10, Outcome::lost_to_fault);
  CHECK(outage.outcome() == Outcome::lost_to_fault);
  CHECK(outage.lasts_at(9));
  CHECK_FALSE(outage.try_end(9));
  CHECK_FALSE(outage.lasts_at(10));
  CHECK(outage.try_end(12));
  CHECK_FALSE(outage.try_end(12));
  CHECK_FALSE(outage.lasts_at(12));
}

}  // namespace
}  // namespace headroom::outage_test
