#include "hardware/environment.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/engines/engines.hpp"
#include "tests/support/about.hpp"

namespace headroom::environment_test {
namespace {

constexpr ByteCount kGiB = ByteCount{1} << 30;

DeviceSpec gb10(double reported_gib = 121.69) {
  DeviceSpec device;
  device.id = "gb10";
  device.memory_model = MemoryModel::unified;
  device.sm = 121;
  device.memory_nominal_bytes = 128 * kGiB;
  device.memory_reported_bytes = bytes_from_gib(reported_gib);
  return device;
}

DeviceSpec h100() {
  DeviceSpec device;
  device.id = "h100-sxm";
  device.sm = 90;
  device.memory_nominal_bytes = 80 * kGiB;
  device.memory_reported_bytes = bytes_from_gib(79.19);
  return device;
}

HostRequest request_of(const DeviceSpec& device, FreeMetric metric) {
  HostRequest request;
  request.device = device;
  request.metric = metric;
  return request;
}

const Environment& row(const std::string& id) {
  static const std::vector<Environment> kRows = [] {
    const std::filesystem::path file =
        std::filesystem::path(HEADROOM_SOURCE_DIR) / "hardware/catalog/environments.json";
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return parse_environments(text.str(), "environments.json");
  }();
  for (const Environment& environment : kRows) {
    if (environment.id == id) return environment;
  }
  throw std::runtime_error("no environment " + id);
}

// A start of 60 GiB of weights, 4 of activations and a pool.
MemoryBudget budget_of(double pool_gib) {
  MemoryBudget budget;
  const auto put = [&](MemoryPurpose purpose, ByteCount bytes) {
    budget.terms.bytes[static_cast<std::size_t>(purpose)] = bytes;
  };
  put(MemoryPurpose::weights, 60 * kGiB);
  put(MemoryPurpose::activations, 4 * kGiB);
  put(MemoryPurpose::kv_pool, bytes_from_gib(pool_gib));
  return budget;
}

bool any_contains(const std::vector<std::string>& notes, const std::string& text) {
  for (const std::string& note : notes) {
    if (note.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("which free memory an engine reads depends on version and device", "[environment]") {
  const DeviceSpec spark = gb10();
  CHECK(engine_named("vllm").free_metric({0, 11}, spark) == FreeMetric::mem_free);
  CHECK(engine_named("vllm").free_metric({0, 12}, spark) == FreeMetric::mem_available);
  CHECK(engine_named("vllm").free_metric({0, 19}, h100()) == FreeMetric::device);
  CHECK(engine_named("trtllm").free_metric({9, 0}, spark) == FreeMetric::mem_free);
  CHECK(engine_named("sglang").free_metric({0, 4}, spark) == FreeMetric::mem_free);
  CHECK(engine_named("sglang").free_metric({0, 5}, spark) == FreeMetric::mem_available);
  CHECK(engine_named("tgi").free_metric({3, 3}, spark) == FreeMetric::mem_free);
  CHECK(engine_named("llamacpp").free_metric({0, 0}, spark) == FreeMetric::mem_available);
  CHECK(engine_named("ollama").free_metric({0, 13}, spark) == FreeMetric::mem_available);
  DeviceSpec apple = gb10();
  apple.sm = 0;
  CHECK(engine_named("vllm").free_metric({0, 19}, apple) == FreeMetric::device);
}

TEST_CASE("a Spark after boot has 103.25 GiB by MemFree and 115.85 by MemAvailable",
          "[environment]") {
  // unsloth pull request 10704: those two figures on one idle GB10.
  Environment boot = row("native-gb10");
  boot.engine_host_bytes = 0;  // no engine yet
  const auto free_gib = [&](FreeMetric metric) {
    const MachineMemory machine = machine_memory(boot, request_of(gb10(), metric));
    return gib_from_bytes(machine.total_bytes - machine.not_free_bytes());
  };
  CHECK(free_gib(FreeMetric::mem_free) == Approx(103.25).margin(0.005));
  CHECK(free_gib(FreeMetric::mem_available) == Approx(115.85).margin(0.005));
}

TEST_CASE("reading the checkpoint counts under MemFree until memory is full", "[environment]") {
  Environment environment;
  environment.system_bytes = 5 * kGiB;
  environment.checkpoint_cache_share = 1;
  HostRequest request = request_of(gb10(120), FreeMetric::mem_free);
  request.device_bytes = 70 * kGiB;
  request.checkpoint_bytes = 14 * kGiB;
  CHECK(machine_memory(environment, request).cache_growth_bytes == 14 * kGiB);
  // 120 - 2.5 reserve - 5 - 70 = 42.5 GiB are all that cache can take.
  request.checkpoint_bytes = 135 * kGiB;
  CHECK(machine_memory(environment, request).cache_growth_bytes == 42 * kGiB + kGiB / 2);
  request.metric = FreeMetric::mem_available;
  CHECK(machine_memory(environment, request).cache_growth_bytes == 0);
  CHECK(machine_memory(environment, request).slack_bytes == kAvailableSlackBytes);
  CHECK(machine_memory(environment, request).free_metric == "MemAvailable");
}

TEST_CASE("loading evicts earlier cache when memory is short", "[environment]") {
  Environment environment;
  environment.page_cache_bytes = 60 * kGiB;
  HostRequest request = request_of(gb10(120), FreeMetric::mem_free);
  request.device_bytes = 100 * kGiB;
  const MachineMemory machine = machine_memory(environment, request);
  // What is left beside 100 GiB and the reserve of 2.5.
  CHECK(machine.cache_before_bytes == 17 * kGiB + kGiB / 2);
  CHECK(machine.cache_growth_bytes == 0);
  request.device_bytes = 130 * kGiB;  // more than the machine: all cache goes before it fails
  CHECK(machine_memory(environment, request).not_free_bytes() == 0);
}

TEST_CASE("first start and steady state have their own overheads and spreads", "[environment]") {
  const Environment& measured = row("docker-measured-qwen2.5-72b");
  HostRequest request = request_of(gb10(119.707), FreeMetric::mem_free);
  const auto overhead_gib = [&] {
    return gib_from_bytes(machine_memory(measured, request).others_bytes - measured.system_bytes);
  };
  CHECK(overhead_gib() == Approx(16.6).margin(0.005));
  request.overhead = OverheadCase::low;
  CHECK(overhead_gib() == Approx(15.18).margin(0.005));
  request.overhead = OverheadCase::high;
  CHECK(overhead_gib() == Approx(17.53).margin(0.005));
  request.first_start = true;
  CHECK(overhead_gib() == Approx(32.9).margin(0.005));
}

TEST_CASE("double counting and a compiler heap act on what the engine holds", "[environment]") {
  Environment environment;
  environment.engine_host_bytes = 2 * kGiB;
  environment.compile_bytes = 8 * kGiB;
  environment.double_counted_share = 0.25;
  HostRequest request = request_of(gb10(), FreeMetric::mem_free);
  request.device_bytes = 40 * kGiB;
  CHECK(machine_memory(environment, request).engine_host_bytes == 12 * kGiB);  // 2 + 40 / 4
  request.first_start = true;
  CHECK(machine_memory(environment, request).engine_host_bytes == 20 * kGiB);
}

TEST_CASE("a container does not change it on a discrete device and the notes say so",
          "[environment]") {
  for (const char* id : {"docker", "docker-shm-60g", "docker-cgroup-double-count",
                         "docker-page-cache", "docker-measured-qwen2.5-72b"}) {
    HostRequest request = request_of(h100(), FreeMetric::device);
    request.checkpoint_bytes = 140 * kGiB;
    request.device_bytes = 60 * kGiB;
    request.first_start = true;
    const MachineMemory machine = machine_memory(row(id), request);
    CHECK(machine.not_free_bytes() == 0);
    CHECK(machine.total_bytes == h100().memory_reported_bytes);
    CHECK(any_contains(environment_notes(row(id), request), "a container does not change it"));
  }
}

TEST_CASE("page cache in the memory of a GH200 counts as used there", "[environment]") {
  DeviceSpec gh200 = h100();
  gh200.memory_model = MemoryModel::coherent_discrete;
  gh200.memory_reported_bytes = bytes_from_gib(142.5);
  const HostRequest request = request_of(gh200, FreeMetric::device);
  const MachineMemory machine = machine_memory(row("gh200-page-cache"), request);
  // vLLM issue 35313: 74.9 of 142.5 GiB free.
  CHECK(gib_from_bytes(machine.total_bytes - machine.not_free_bytes()) ==
        Approx(74.9).margin(0.001));
  CHECK(machine_memory(row("native"), request).not_free_bytes() == 0);
  CHECK(any_contains(environment_notes(row("native"), request), "NUMA node"));
}

TEST_CASE("Docker's 64 MiB of /dev/shm are too little for two ranks", "[environment]") {
  HostRequest request = request_of(h100(), FreeMetric::device);
  CHECK_FALSE(host_failure(row("docker"), request, budget_of(8)));
  request.tensor_parallel = 2;
  const auto failure = host_failure(row("docker"), request, budget_of(8));
  REQUIRE(failure);
  CHECK(failure->stage == StartupStage::host_memory);
  CHECK(failure->kind == StartupKind::startup);
  CHECK(failure->wanted_bytes == 8 * 9'637'888);  // 4 NCCL segments per rank
  CHECK(failure->free_bytes == 64 << 20);
  CHECK(failure->message.find("--shm-size") != std::string::npos);
  CHECK_FALSE(host_failure(row("docker-shm-60g"), request, budget_of(8)));
  CHECK_FALSE(host_failure(row("native"), request, budget_of(8)));
}

TEST_CASE("a container's memory limit kills for host memory, not for CUDA allocations",
          "[environment]") {
  Environment environment = row("docker");
  environment.engine_host_bytes = 4 * kGiB;
  environment.memory_limit_bytes = 8 * kGiB;
  environment.compile_bytes = 5 * kGiB;
  HostRequest request = request_of(gb10(), FreeMetric::mem_available);
  CHECK_FALSE(host_failure(environment, request, budget_of(20)));  // 84 GiB of device memory
  CHECK(any_contains(environment_notes(environment, request), "not device allocations"));
  request.first_start = true;
  const auto killed = host_failure(environment, request, budget_of(20));
  REQUIRE(killed);
  CHECK(killed->kind == StartupKind::cgroup_kill);
  CHECK(killed->stage == StartupStage::profiling);
  CHECK(killed->free_bytes == 4 * kGiB);
  // Beside a discrete device the same heap is charged to the same container.
  request.device = h100();
  CHECK(host_failure(environment, request, budget_of(8))->kind == StartupKind::cgroup_kill);
  // A CPU backend's weights are heap (vLLM pull request 45086).
  request.first_start = false;
  request.cpu_backend = true;
  CHECK(host_failure(environment, request, budget_of(8))->stage == StartupStage::weights);
}

TEST_CASE("a pool beyond what is physically free freezes a machine of shared memory",
          "[environment]") {
  // 121.69 - 2.5 reserve - 5.84 system - 1.8 engine - 64 weights and activations = 47.55 GiB.
  const HostRequest request = request_of(gb10(), FreeMetric::mem_free);
  CHECK_FALSE(host_failure(row("native"), request, budget_of(47.54)));
  const auto failure = host_failure(row("native"), request, budget_of(47.56));
  REQUIRE(failure);
  CHECK(failure->kind == StartupKind::host_freeze);
  CHECK(failure->stage == StartupStage::kv_allocation);
  CHECK(gib_from_bytes(failure->free_bytes) == Approx(47.55).margin(0.005));
  // An engine that reads MemAvailable gets the reserve, too, and nothing beyond it.
  const HostRequest available = request_of(gb10(), FreeMetric::mem_available);
  CHECK_FALSE(host_failure(row("native"), available, budget_of(50.04)));
  CHECK(host_failure(row("native"), available, budget_of(50.06)));
  CHECK(host_after_start(row("native"), available, budget_of(50.04)).mem_available_bytes() > 0);
  // The same budget on a discrete device is not the host's business.
  CHECK_FALSE(
      host_failure(row("native"), request_of(h100(), FreeMetric::device), budget_of(47.56)));
}

TEST_CASE("a compiler heap that does not fit is killed, and a failed budget gets no further",
          "[environment]") {
  Environment environment = row("docker-jit-heap");
  environment.compile_bytes = 160 * kGiB;  // flashinfer issue 3634: 20 jobs of 8 GiB
  HostRequest request = request_of(gb10(), FreeMetric::mem_free);
  request.first_start = true;
  const auto failure = host_failure(environment, request, budget_of(1));
  REQUIRE(failure);
  CHECK(failure->kind == StartupKind::host_oom);
  MemoryBudget failed = budget_of(100);
  failed.failure = StartupFailure{};
  CHECK_FALSE(host_failure(row("native"), request_of(gb10(), FreeMetric::mem_free), failed));
}

TEST_CASE("Apple's working set is all free until the host takes more than the rest",
          "[environment]") {
  DeviceSpec apple = gb10(96);
  apple.sm = 0;
  const HostRequest request = request_of(apple, FreeMetric::device);
  CHECK(machine_memory(row("native-gb10"), request).not_free_bytes() == 0);
  Environment busy;
  busy.processes_bytes = 40 * kGiB;  // of 128: 88 remain for a working set of 96
  CHECK(machine_memory(busy, request).others_bytes == 8 * kGiB);
}

TEST_CASE("notes carry every assumption and what is not scored", "[environment]") {
  const Environment& environment = row("docker-page-cache");
  const HostRequest request = request_of(gb10(), FreeMetric::mem_free);
  const std::vector<std::string> notes = environment_notes(environment, request);
  CHECK(any_contains(notes, "by documented rules, compared with no measurement"));
  CHECK(any_contains(notes, "page cache counts as used"));
  for (const std::string& assumption : environment.assumptions) {
    CHECK(any_contains(notes, assumption));
  }
  CHECK_FALSE(
      any_contains(environment_notes(row("docker-measured-qwen2.5-72b"), request), "unscored"));
  // What was measured on a GB10 says nothing of a Mac, where it is not counted.
  const HostRequest apple = request_of(gb10(), FreeMetric::device);
  CHECK_FALSE(any_contains(environment_notes(row("native"), apple), "GB10"));
  CHECK(any_contains(environment_notes(row("native"), apple), "shared memory of another vendor"));
}

namespace {

test::About error_of(const std::string& text) {
  return test::about([&] { return parse_environments(text, "mine.json"); });
}

std::string one_row(const std::string& more) {
  return R"({"environments": [{"id": "a", "title": "b", "source": "c")" + more + "}]}";
}

}  // namespace

TEST_CASE("an environment is read in GiB and all but names may be absent", "[environment]") {
  const std::vector<Environment> rows = parse_environments(
      one_row(R"(, "tmpfs_gib": 1.5, "assumptions": ["x y", ["p", "q"]])"), "mine.json");
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].tmpfs_bytes == 3 * kGiB / 2);
  CHECK_FALSE(rows[0].shm_size_bytes);
  CHECK_FALSE(rows[0].steady_overhead);
  CHECK(rows[0].assumptions == std::vector<std::string>{"x y", "p q"});
}

TEST_CASE("wrong rows of environments name file, pointer and what is allowed", "[environment]") {
  CHECK(error_of("{") == test::unreadable_at(""));
  CHECK(error_of("{").complaint.origin == "mine.json");
  CHECK(error_of("{}") == test::missing_at("/environments"));
  const test::About misspelt = error_of(one_row(R"(, "page_cach_gib": 1)"));
  CHECK(misspelt == test::unknown_at("/environments/0/page_cach_gib"));
  CHECK(misspelt.complaint.nearest == "page_cache_gib");
  CHECK(error_of(one_row(R"(, "tmpfs_gib": -1)")) == test::value_at("/environments/0/tmpfs_gib"));
  CHECK(error_of(one_row(R"(, "checkpoint_cache_share": 1.1)")) ==
        test::value_at("/environments/0/checkpoint_cache_share"));
  CHECK(error_of(one_row(R"(, "tmpfs_gib": 2, "shm_size_gib": 1)")) ==
        test::value_at("/environments/0/tmpfs_gib"));
  CHECK(error_of(one_row(R"(, "steady_overhead_gib": {"low": 2, "typical": 1, "high": 3})")) ==
        test::value_at("/environments/0/steady_overhead_gib"));
  CHECK(error_of(one_row(R"(, "steady_overhead_gib": {"low": 2, "typical": 2})")) ==
        test::missing_at("/environments/0/steady_overhead_gib/high"));
  CHECK(error_of(R"({"environments": [{"id": "a", "title": "b", "source": "c"},
                                         {"id": "a", "title": "b", "source": "c"}]})") ==
        test::conflict_at("/environments/1/id"));
}

}  // namespace headroom::environment_test
