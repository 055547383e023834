#include "workloads/counter_stream.hpp"

#include <catch2/catch.hpp>
#include <set>

namespace headroom::counter_stream_test {

TEST_CASE("a place of a stream has its bits whatever is asked for before", "[workloads]") {
  const CounterStream stream(7, "sessions");
  const std::uint64_t third = stream.bits(3);
  static_cast<void>(stream.bits(1));
  static_cast<void>(stream.of(3).bits(3));
  CHECK(stream.bits(3) == third);
  CHECK(CounterStream(7, "sessions").bits(3) == third);
}

TEST_CASE("streams of other seeds, names and numbers have other bits", "[workloads]") {
  std::set<std::uint64_t> all;
  for (const std::uint64_t seed : {1U, 2U}) {
    for (const char* name : {"sessions", "users"}) {
      const CounterStream family(seed, name);
      for (std::uint64_t place = 0; place < 100; ++place) all.insert(family.bits(place));
      for (std::uint64_t number = 0; number < 100; ++number) {
        for (std::uint64_t place = 0; place < 100; ++place) {
          all.insert(family.of(number).bits(place));
        }
      }
    }
  }
  CHECK(all.size() == 4 * (100 + 100 * 100));
}

TEST_CASE("the bits are those of SplitMix64", "[workloads]") {
  // The default key is 0: the first outputs of SplitMix64 with seed 0, as published with
  // xoshiro256 (Vigna, splitmix64.c) and in java.util.SplittableRandom.
  const CounterStream stream;
  CHECK(stream.bits(0) == 0xE220A8397B1DCDAF);
  CHECK(stream.bits(1) == 0x6E789E6AA1B965F4);
  CHECK(stream.bits(2) == 0x06C45D188009454F);
}

}  // namespace headroom::counter_stream_test
