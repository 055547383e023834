#include "sim/serving/link.hpp"

#include <catch2/catch.hpp>

#include "sim/kernel/check.hpp"

namespace headroom::link_test {
namespace {

TEST_CASE("a transfer ends after the latency and its bytes at the rate", "[link]") {
  SerialLink link(2'000'000'000, 1500);  // 2 bytes per ns
  CHECK(link.transfer(1000, 10'000) == 10'000 + 1500 + 500);
}

TEST_CASE("a part of a nanosecond counts as a whole one", "[link]") {
  SerialLink link(3'000'000'000, 0);
  CHECK(link.transfer(10, 0) == 4);  // 3.33 ns
  SerialLink exact(3'000'000'000, 0);
  CHECK(exact.transfer(9, 0) == 3);
}

TEST_CASE("a transfer waits for the one before it", "[link]") {
  SerialLink link(1'000'000'000, 10);
  CHECK(link.transfer(100, 0) == 110);
  CHECK(link.transfer(100, 50) == 220);   // begins at 110
  CHECK(link.transfer(100, 220) == 330);  // begins as the one before ends
  CHECK(link.transfer(100, 1000) == 1110);
}

TEST_CASE("nothing to move still takes its turn and the latency", "[link]") {
  SerialLink link(1'000'000'000, 10);
  CHECK(link.transfer(100, 0) == 110);
  CHECK(link.transfer(0, 0) == 120);
}

TEST_CASE("a petabyte over a slow link is exact", "[link]") {
  // 10^15 bytes at 3 * 10^8 B/s = 3333333.333... s, rounded up to the ns; the product of bytes and
  // ns per second is above 64 bits.
  SerialLink link(300'000'000, 0);
  CHECK(link.transfer(1'000'000'000'000'000, 0) == 3'333'333'333'333'334);
}

TEST_CASE("a link without a rate and a transfer of negative size are bugs", "[link]") {
  CHECK_THROWS_AS(SerialLink(0, 0), InternalError);
  CHECK_THROWS_AS(SerialLink(1, -1), InternalError);
  SerialLink link(1, 0);
  CHECK_THROWS_AS(link.transfer(-1, 0), InternalError);
}

}  // namespace
}  // namespace headroom::link_test
