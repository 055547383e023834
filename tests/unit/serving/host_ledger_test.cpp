#include "sim/serving/host_ledger.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <string_view>

#include "sim/kernel/check.hpp"

namespace headroom::host_ledger_test {
namespace {

HostLedger plain(ByteCount total, ByteCount reserve = 0) {
  return HostLedger({total, reserve, {}, {}, false});
}

}  // namespace

TEST_CASE("reading files lowers MemFree byte for byte and leaves MemAvailable", "[host_ledger]") {
  HostLedger ledger = plain(1000);
  REQUIRE(ledger.charge(HostPurpose::system, 100) == HostRefusal::none);
  ledger.read_files(300);
  CHECK(ledger.mem_free_bytes() == 600);
  CHECK(ledger.mem_available_bytes() == 900);
  CHECK(ledger.charged(HostPurpose::page_cache) == 300);
  ledger.drop_caches();
  CHECK(ledger.mem_free_bytes() == 900);
}

TEST_CASE("cache fills what is free above the reserve and no more", "[host_ledger]") {
  HostLedger ledger = plain(1000, 50);
  REQUIRE(ledger.charge(HostPurpose::device, 600) == HostRefusal::none);
  ledger.read_files(10'000);
  // 1000 - 600 - 50
  CHECK(ledger.charged(HostPurpose::page_cache) == 350);
  CHECK(ledger.mem_free_bytes() == 50);
}

TEST_CASE("a charge evicts as much cache as it lacks", "[host_ledger]") {
  HostLedger ledger = plain(1000, 50);
  ledger.read_files(900);  // 100 free, of which 50 are the reserve
  REQUIRE(ledger.charge(HostPurpose::device, 250) == HostRefusal::none);
  CHECK(ledger.charged(HostPurpose::page_cache) == 700);
  CHECK(ledger.mem_free_bytes() == 50);
  CHECK(ledger.mem_available_bytes() == 750);
}

TEST_CASE("device memory that does not fit freezes the machine, host memory is killed for",
          "[host_ledger]") {
  HostLedger ledger = plain(1000, 50);
  REQUIRE(ledger.charge(HostPurpose::system, 100) == HostRefusal::none);
  ledger.read_files(400);
  CHECK(ledger.chargeable_bytes() == 850);  // cache is no obstacle, the reserve is
  CHECK(ledger.charge(HostPurpose::device, 851) == HostRefusal::host_freeze);
  CHECK(ledger.charge(HostPurpose::engine_host, 851) == HostRefusal::host_oom);
  CHECK(ledger.charged(HostPurpose::page_cache) == 400);  // a refusal evicts nothing
  CHECK(ledger.charge(HostPurpose::device, 850) == HostRefusal::none);
}

TEST_CASE("a container's limit bounds its heap and tmpfs, not device memory", "[host_ledger]") {
  HostLedger ledger({1000, 0, {}, 80, false});
  REQUIRE(ledger.charge(HostPurpose::tmpfs, 30) == HostRefusal::none);
  CHECK(ledger.charge(HostPurpose::engine_host, 51) == HostRefusal::cgroup_kill);
  CHECK(ledger.charge(HostPurpose::engine_host, 50) == HostRefusal::none);
  CHECK(ledger.charge(HostPurpose::processes, 100) == HostRefusal::none);  // outside of it
  CHECK(ledger.charge(HostPurpose::device, 600) == HostRefusal::none);
}

TEST_CASE("the limit bounds a CPU backend, whose device memory is heap", "[host_ledger]") {
  HostLedger ledger({1000, 0, {}, 80, true});
  CHECK(ledger.charge(HostPurpose::device, 81) == HostRefusal::cgroup_kill);
  REQUIRE(ledger.charge(HostPurpose::device, 60) == HostRefusal::none);
  CHECK(ledger.charge(HostPurpose::engine_host, 21) == HostRefusal::cgroup_kill);
}

TEST_CASE("tmpfs takes memory as used and stops at its limit", "[host_ledger]") {
  HostLedger ledger({1000, 0, 64, {}, false});
  CHECK(ledger.mem_free_bytes() == 1000);  // a limit reserves nothing
  CHECK(ledger.charge(HostPurpose::tmpfs, 65) == HostRefusal::shm_full);
  CHECK(ledger.charge(HostPurpose::tmpfs, 64) == HostRefusal::none);
  CHECK(ledger.mem_available_bytes() == 936);  // not reclaimable
  CHECK(ledger.charge(HostPurpose::tmpfs, 1) == HostRefusal::shm_full);
  CHECK(ledger.charge(HostPurpose::tmpfs, 0) == HostRefusal::none);
}

TEST_CASE("misuse of the ledger is a bug", "[host_ledger]") {
  HostLedger ledger = plain(100);
  CHECK_THROWS_AS(ledger.charge(HostPurpose::page_cache, 1), InternalError);
  CHECK_THROWS_AS(ledger.charge(HostPurpose::device, -1), InternalError);
  CHECK_THROWS_AS(ledger.release(HostPurpose::device, 1), InternalError);
  CHECK_THROWS_AS(ledger.read_files(-1), InternalError);
  CHECK_THROWS_AS(plain(10, 11), InternalError);
  CHECK(ledger.mem_free_bytes() == 100);
}

TEST_CASE("purposes and free bytes add up to the total at every moment", "[host_ledger]") {
  std::mt19937_64 random(7);
  HostLedger ledger({1'000'000, 10'000, 200'000, 300'000, false});
  for (int i = 0; i < 20'000; ++i) {
    const auto purpose = static_cast<HostPurpose>(random() % kHostPurposeCount);
    const auto bytes = static_cast<ByteCount>(random() % 200'000);
    const ByteCount held = ledger.charged(purpose);
    if (random() % 3 == 0) {
      ledger.read_files(bytes);
    } else if (random() % 2 == 0 && bytes <= held) {
      ledger.release(purpose, bytes);
    } else if (purpose != HostPurpose::page_cache) {
      const bool taken = ledger.charge(purpose, bytes) == HostRefusal::none;
      REQUIRE(ledger.charged(purpose) == (taken ? held + bytes : held));
    }
    ByteCount sum = ledger.mem_free_bytes();
    for (std::size_t p = 0; p < kHostPurposeCount; ++p) {
      REQUIRE(ledger.charged(static_cast<HostPurpose>(p)) >= 0);
      sum += ledger.charged(static_cast<HostPurpose>(p));
    }
    REQUIRE(sum == 1'000'000);
    REQUIRE(ledger.mem_free_bytes() >= 10'000);
    REQUIRE(ledger.charged(HostPurpose::tmpfs) <= 200'000);
  }
}

TEST_CASE("every host purpose and refusal has a name of its own", "[host_ledger]") {
  std::set<std::string_view> names;
  for (std::size_t p = 0; p < kHostPurposeCount; ++p) {
    names.insert(name_of(static_cast<HostPurpose>(p)));
  }
  for (int r = 0; r < 5; ++r) names.insert(name_of(static_cast<HostRefusal>(r)));
  CHECK(names.size() == kHostPurposeCount + 5);
  CHECK(name_of(HostRefusal::host_freeze) == "host_freeze");
}

}  // namespace headroom::host_ledger_test
