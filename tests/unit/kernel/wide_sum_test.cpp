#include "sim/kernel/wide_sum.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <random>

#include "sim/kernel/check.hpp"

namespace headroom::wide_sum_test {
namespace {

constexpr Uint128 kMax128 = ~Uint128{0};

TEST_CASE("an empty sum is zero", "[wide_sum]") {
  CHECK(WideSum{} == WideSum{});
  CHECK(WideSum{}.to_double() == 0.0);
}

TEST_CASE("a product of 128 by 64 bits is exact", "[wide_sum]") {
  WideSum sum;
  sum.add(kMax128, UINT64_MAX);
  // (2^128 - 1)(2^64 - 1) = 2^192 - 2^128 - 2^64 + 1 = (2^64 - 2) 2^128 + (2^128 - 2^64 + 1).
  CHECK(sum.high() == UINT64_MAX - 1);
  CHECK((sum.low() == kMax128 - UINT64_MAX + 1));
}

TEST_CASE("carries pass from the low into the high part", "[wide_sum]") {
  WideSum sum;
  sum.add(kMax128, 1);
  CHECK(sum.high() == 0);
  sum.add(1, 1);
  CHECK(sum.high() == 1);
  CHECK((sum.low() == 0));
}

TEST_CASE("adding a value n times at once equals adding it n times", "[wide_sum]") {
  std::mt19937_64 random(11);
  for (int i = 0; i < 100; ++i) {
    const Uint128 value = (Uint128{random()} << 64) | random();
    const std::uint64_t times = random() % 200;
    WideSum at_once;
    at_once.add(value, times);
    WideSum one_by_one;
    WideSum products;
    for (std::uint64_t k = 0; k < times; ++k) {
      one_by_one.add(value, 1);
      products.add(value);
    }
    REQUIRE(at_once == one_by_one);
    REQUIRE(products == one_by_one);
  }
}

TEST_CASE("sums add up in any order of parts", "[wide_sum]") {
  WideSum all;
  WideSum odd;
  WideSum even;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    const Uint128 square = Uint128{i << 52} * (i << 52);
    all.add(square, i);
    (i % 2 == 1 ? odd : even).add(square, i);
  }
  even.add(odd);
  CHECK(even == all);
  CHECK_FALSE(odd == all);
  // Sum of i * (i 2^52)^2 = 2^104 * sum of i^3 = 2^104 * (1000 * 1001 / 2)^2.
  CHECK(all.to_double() == std::ldexp(500500.0 * 500500.0, 104));
}

TEST_CASE("a double is the nearest one, ties to even", "[wide_sum]") {
  const auto converted = [](std::uint64_t high, Uint128 low) {
    WideSum sum;
    sum.add(kMax128, high);  // high * 2^128 - high
    sum.add(high, 1);
    sum.add(low, 1);
    return sum.to_double();
  };
  CHECK(converted(0, 3) == 3.0);
  CHECK(converted(0, UINT64_MAX) == 0x1p64);
  CHECK(converted(1, 0) == 0x1p128);
  CHECK(converted(UINT64_MAX, kMax128) == 0x1p192);
  // Steps of doubles above 2^128 are 2^76: half a step goes to the even neighbour, one unit more
  // up.
  const Uint128 half = Uint128{1} << 75;
  CHECK(converted(1, half) == 0x1p128);
  CHECK(converted(1, half + 1) == 0x1.0000000000001p128);
  CHECK(converted(1, 3 * half) == 0x1.0000000000002p128);
  CHECK(converted(1, 3 * half - 1) == 0x1.0000000000001p128);
}

TEST_CASE("a sum beyond 192 bits is refused", "[wide_sum]") {
  WideSum sum;
  sum.add(kMax128, UINT64_MAX);
  CHECK_THROWS_AS(sum.add(kMax128, 2), InternalError);
  WideSum other = sum;
  CHECK_THROWS_AS(other.add(sum), InternalError);
}

}  // namespace
}  // namespace headroom::wide_sum_test
