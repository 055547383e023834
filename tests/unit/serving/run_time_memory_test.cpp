#include "sim/serving/run_time_memory.hpp"

#include <catch2/catch.hpp>

namespace headroom::run_time_memory_test {
namespace {

constexpr ByteCount kBytePerUs = 3'600'000'000;  // per hour
constexpr TimeNs kUs = 1'000;

DeviceLedger device_with(ByteCount free_bytes) {
  DeviceLedger device(1000);
  REQUIRE(device.charge(MemoryPurpose::weights, 1000 - free_bytes) == LedgerRefusal::none);
  return device;
}

// 1000 bytes, of which the kernel keeps 100; 700 of device memory and 40 of the engine's heap.
HostLedger shared_host(std::optional<ByteCount> limit) {
  HostLedger host(
      {.total_bytes = 1000, .reserve_bytes = 100, .shm_bytes = {}, .host_bytes = limit});
  REQUIRE(host.charge(HostPurpose::engine_host, 40) == HostRefusal::none);
  REQUIRE(host.charge(HostPurpose::device, 700) == HostRefusal::none);
  return host;
}

TEST_CASE("growth fails in the nanosecond in which a byte more than is free would be taken") {
  // 50 bytes are free: the 51st is due 51 us after the start, whenever that was.
  RunTimeMemory memory({.device = device_with(50), .device_bytes_per_hour = kBytePerUs});
  CHECK(memory.fails_ns() == 51 * kUs);
  memory.start(1000);
  CHECK(memory.fails_ns() == 52 * kUs);
  const MemoryShortage shortage = memory.growth_shortage(60 * kUs);
  CHECK(shortage.kind == OomKind::runtime_device);
  CHECK(shortage.wanted_bytes == 59);  // in 59 us
  CHECK(shortage.free_bytes == 50);
  CHECK(shortage.held[0].purpose == "weights");
  CHECK(shortage.held[0].bytes == 950);
}

TEST_CASE("what does not grow never fails, and what grows slowly fails late") {
  CHECK(RunTimeMemory().fails_ns() == kNever);
  CHECK(RunTimeMemory({.device = device_with(50)}).fails_ns() == kNever);
  // 1 byte per hour: the 51st after 51 hours.
  RunTimeMemory slow({.device = device_with(50), .device_bytes_per_hour = 1});
  CHECK(slow.fails_ns() == 51 * 3600 * kNsPerSecond);
}

TEST_CASE("the limit that refuses names the kind") {
  const auto kind_of = [](RunTimeMemoryOptions options) {
    const RunTimeMemory memory(std::move(options));
    return memory.growth_shortage(memory.fails_ns()).kind;
  };
  // A heap under a container's limit of 100 bytes, 40 of them in use: 60 are left.
  RunTimeMemoryOptions limited{.host = shared_host(100), .host_bytes_per_hour = kBytePerUs};
  CHECK(RunTimeMemory(limited).fails_ns() == 61 * kUs);
  CHECK(kind_of(limited) == OomKind::cgroup_kill);
  // Without it the machine's 1000 - 100 - 740 = 160 are left.
  RunTimeMemoryOptions heap{.host = shared_host({}), .host_bytes_per_hour = kBytePerUs};
  CHECK(RunTimeMemory(heap).fails_ns() == 161 * kUs);
  CHECK(kind_of(heap) == OomKind::runtime_host);
  // Device allocations that are the host's memory: nobody can be killed for them. The limit of a
  // container does not count them.
  RunTimeMemoryOptions frozen{
      .host = shared_host(100), .shared = true, .device_bytes_per_hour = kBytePerUs};
  CHECK(RunTimeMemory(frozen).fails_ns() == 161 * kUs);
  CHECK(kind_of(frozen) == OomKind::host_freeze);
  // Both grow into the same 160 bytes, one byte a microsecond each: 81 + 81 do not fit.
  RunTimeMemoryOptions both{.host = shared_host({}),
                            .shared = true,
                            .device_bytes_per_hour = kBytePerUs,
                            .host_bytes_per_hour = kBytePerUs};
  CHECK(RunTimeMemory(both).fails_ns() == 81 * kUs);
  CHECK(kind_of(both) == OomKind::runtime_host);
}

TEST_CASE("log-probabilities use what activations have left, then what is free") {
  // 20 bytes of activations are over, 50 are free, less what has grown: 70 bytes at the start, 60
  // after 10 us. A token takes 10.
  RunTimeMemory memory({.device = device_with(50),
                        .device_bytes_per_hour = kBytePerUs,
                        .logprob_bytes_per_token = 10,
                        .reusable_bytes = 20});
  CHECK_FALSE(memory.logprob_shortage(7, 0));
  CHECK_FALSE(memory.logprob_shortage(6, 10 * kUs));
  const auto shortage = memory.logprob_shortage(7, 10 * kUs);
  REQUIRE(shortage);
  CHECK(shortage->kind == OomKind::runtime_device);
  CHECK(shortage->wanted_bytes == 70);
  CHECK(shortage->free_bytes == 60);
}

}  // namespace
}  // namespace headroom::run_time_memory_test
