#include "sim/serving/memory_ledger.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <set>
#include <string_view>

#include "sim/kernel/check.hpp"

namespace headroom::memory_ledger_test {
namespace {

ByteCount sum_of_purposes(const DeviceLedger& ledger) {
  ByteCount sum = 0;
  for (std::size_t i = 0; i < kMemoryPurposeCount; ++i) {
    sum += ledger.charged(static_cast<MemoryPurpose>(i));
  }
  return sum;
}

TEST_CASE("bytes are charged to their purpose and leave the rest free", "[memory_ledger]") {
  DeviceLedger ledger(100);
  CHECK(ledger.charge(MemoryPurpose::weights, 60) == LedgerRefusal::none);
  CHECK(ledger.charge(MemoryPurpose::kv_pool, 30) == LedgerRefusal::none);
  CHECK(ledger.charge(MemoryPurpose::weights, 5) == LedgerRefusal::none);
  CHECK(ledger.charged(MemoryPurpose::weights) == 65);
  CHECK(ledger.charged(MemoryPurpose::kv_pool) == 30);
  CHECK(ledger.charged(MemoryPurpose::graphs) == 0);
  CHECK(ledger.free_bytes() == 5);
}

TEST_CASE("a charge that fits exactly is taken, one byte more is refused", "[memory_ledger]") {
  DeviceLedger ledger(100);
  CHECK(ledger.charge(MemoryPurpose::weights, 101) == LedgerRefusal::exceeds_capacity);
  CHECK(ledger.charge(MemoryPurpose::weights, 100) == LedgerRefusal::none);
  CHECK(ledger.charge(MemoryPurpose::margin, 1) == LedgerRefusal::exceeds_capacity);
  CHECK(ledger.charge(MemoryPurpose::margin, 0) == LedgerRefusal::none);
}

TEST_CASE("a refused charge changes nothing", "[memory_ledger]") {
  DeviceLedger ledger(100);
  REQUIRE(ledger.charge(MemoryPurpose::graphs, 40) == LedgerRefusal::none);
  REQUIRE(ledger.charge(MemoryPurpose::graphs, 61) == LedgerRefusal::exceeds_capacity);
  CHECK(ledger.charged(MemoryPurpose::graphs) == 40);
  CHECK(ledger.free_bytes() == 60);
}

TEST_CASE("released bytes are free again", "[memory_ledger]") {
  DeviceLedger ledger(100);
  REQUIRE(ledger.charge(MemoryPurpose::activations, 70) == LedgerRefusal::none);
  ledger.release(MemoryPurpose::activations, 20);
  CHECK(ledger.charged(MemoryPurpose::activations) == 50);
  CHECK(ledger.free_bytes() == 50);
}

TEST_CASE("releasing more than a purpose holds is a bug", "[memory_ledger]") {
  DeviceLedger ledger(100);
  REQUIRE(ledger.charge(MemoryPurpose::context, 10) == LedgerRefusal::none);
  CHECK_THROWS_AS(ledger.release(MemoryPurpose::context, 11), InternalError);
  CHECK_THROWS_AS(ledger.release(MemoryPurpose::weights, 1), InternalError);
  CHECK_THROWS_AS(ledger.charge(MemoryPurpose::context, -1), InternalError);
  CHECK(ledger.free_bytes() == 90);
}

TEST_CASE("purposes and free bytes add up to the capacity at every moment", "[memory_ledger]") {
  std::mt19937_64 random(12);
  DeviceLedger ledger(1'000'000);
  for (int i = 0; i < 20'000; ++i) {
    const auto purpose = static_cast<MemoryPurpose>(random() % kMemoryPurposeCount);
    const auto bytes = static_cast<ByteCount>(random() % 200'000);
    if (random() % 2 == 0) {
      const bool fits = bytes <= ledger.free_bytes();
      REQUIRE((ledger.charge(purpose, bytes) == LedgerRefusal::none) == fits);
    } else if (bytes <= ledger.charged(purpose)) {
      ledger.release(purpose, bytes);
    }
    REQUIRE(sum_of_purposes(ledger) + ledger.free_bytes() == ledger.capacity_bytes());
  }
}

TEST_CASE("every purpose has a name of its own", "[memory_ledger]") {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kMemoryPurposeCount; ++i) {
    names.insert(name_of(static_cast<MemoryPurpose>(i)));
  }
  CHECK(names.size() == kMemoryPurposeCount);
  CHECK(name_of(MemoryPurpose::kv_pool) == "kv_pool");
  CHECK(name_of(MemoryPurpose::margin) == "margin");
}

}  // namespace
}  // namespace headroom::memory_ledger_test
