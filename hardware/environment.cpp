#include "hardware/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

// NCCL allocates segments of 9,637,888 bytes in /dev/shm and fails when one does not fit
// (production-stack issue 276). Four per rank is an estimate, based only on reports that Docker's
// 64 MiB fail for 2 ranks (vLLM issue 1710, vLLM's Docker page: --ipc=host or
// --shm-size). NCCL's own guide asks for 1 GiB.
constexpr ByteCount kNcclSegmentBytes = 9'637'888;
constexpr std::int64_t kNcclSegmentsPerRank = 4;

// For a host beside a discrete device; its size is unknown.
constexpr ByteCount kUnlimited = ByteCount{1} << 60;

bool nvidia_shared(const DeviceSpec& device) {
  return device.memory_model == MemoryModel::unified && device.sm > 0;
}

// Free memory of the device follows the host's memory.
bool follows_host(const HostRequest& request) {
  return request.device.memory_model == MemoryModel::unified &&
         request.metric != FreeMetric::device;
}

ByteCount compile_bytes(const Environment& environment, const HostRequest& request) {
  return request.first_start ? environment.compile_bytes : 0;
}

ByteCount measured_overhead(const Environment& environment, const HostRequest& request) {
  const std::optional<ByteRange>& range =
      request.first_start ? environment.first_start_overhead : environment.steady_overhead;
  if (!range) return 0;
  if (request.overhead == OverheadCase::low) return range->low;
  return request.overhead == OverheadCase::high ? range->high : range->typical;
}

// One machine of 121.7 GiB was seen to stop (kFreezeReserveBytes): a small one keeps as large a
// share.
ByteCount freeze_reserve(ByteCount total) {
  constexpr ByteCount kParts = 45;
  return std::min(kFreezeReserveBytes, total / kParts);
}

struct CacheState {
  ByteCount before = 0;  // at the engine's first look
  ByteCount after = 0;   // when the pool is sized
};

CacheState cache_of(const Environment& environment, const HostRequest& request) {
  const ByteCount total = request.device.memory_reported_bytes;
  HostLedger ledger({total, freeze_reserve(total), {}, {}, false});
  CacheState cache;
  bool fits = ledger.charge(HostPurpose::system, environment.system_bytes) == HostRefusal::none;
  fits &= ledger.charge(HostPurpose::processes, environment.processes_bytes) == HostRefusal::none;
  fits &= ledger.charge(HostPurpose::tmpfs, environment.tmpfs_bytes) == HostRefusal::none;
  if (!fits) return cache;
  ledger.read_files(environment.page_cache_bytes);
  cache.before = ledger.charged(HostPurpose::page_cache);
  if (environment.checkpoint_cache_share > 0) {
    ledger.read_files(share_of(request.checkpoint_bytes, environment.checkpoint_cache_share));
  }
  const ByteCount heap = environment.engine_host_bytes + compile_bytes(environment, request);
  fits = ledger.charge(HostPurpose::engine_host, heap) == HostRefusal::none;
  fits &= ledger.charge(HostPurpose::device, request.device_bytes) == HostRefusal::none;
  // What does not fit evicts all of the cache before it fails.
  if (fits) cache.after = ledger.charged(HostPurpose::page_cache);
  return cache;
}

// Apple and AMD give the device a working set of the memory; the host may leave less than that.
ByteCount outside_working_set(const Environment& environment, const DeviceSpec& device) {
  const ByteCount host =
      environment.system_bytes + environment.processes_bytes + environment.tmpfs_bytes;
  return std::max<ByteCount>(device.memory_reported_bytes + host - device.memory_nominal_bytes, 0);
}

}  // namespace

bool shares_memory(const HostRequest& request) {
  return request.device.memory_model == MemoryModel::unified || request.cpu_backend;
}

std::string_view name_of(FreeMetric metric) {
  static constexpr std::array<std::string_view, 3> kNames{"cuda", "MemFree", "MemAvailable"};
  return kNames[static_cast<std::size_t>(metric)];
}

FreeMetric free_metric(bool counts_page_cache_free, const DeviceSpec& device) {
  if (!nvidia_shared(device)) return FreeMetric::device;
  return counts_page_cache_free ? FreeMetric::mem_available : FreeMetric::mem_free;
}

MachineMemory machine_memory(const Environment& environment, const HostRequest& request) {
  MachineMemory machine = idle_machine(request.device);
  machine.free_metric = name_of(request.metric);
  if (!follows_host(request)) {
    machine.free_metric = name_of(FreeMetric::device);
    if (request.device.memory_model == MemoryModel::coherent_discrete) {
      machine.cache_before_bytes = environment.device_page_cache_bytes;
    }
    if (request.device.memory_model == MemoryModel::unified) {
      machine.others_bytes = outside_working_set(environment, request.device);
    }
    return machine;
  }
  machine.others_bytes = environment.system_bytes + environment.processes_bytes +
                         environment.tmpfs_bytes + measured_overhead(environment, request);
  machine.engine_host_bytes = environment.engine_host_bytes + compile_bytes(environment, request);
  if (environment.double_counted_share > 0) {
    machine.engine_host_bytes += share_of(request.device_bytes, environment.double_counted_share);
  }
  if (request.metric == FreeMetric::mem_available) {
    // As with the reserve, a small machine keeps as large a share as a large one.
    constexpr ByteCount kSlackParts = 29;
    machine.slack_bytes =
        std::min(kAvailableSlackBytes, request.device.memory_reported_bytes / kSlackParts);
    return machine;
  }
  const CacheState cache = cache_of(environment, request);
  machine.cache_before_bytes = std::min(cache.before, cache.after);
  machine.cache_growth_bytes = cache.after - machine.cache_before_bytes;
  return machine;
}

namespace {

// What the start charges to the host, in the order of an engine's start-up.
struct Charge {
  HostPurpose purpose;
  ByteCount bytes;
  StartupStage stage;
  std::string_view what;
};

std::vector<Charge> host_charges(const Environment& environment, const HostRequest& request) {
  constexpr StartupStage kHost = StartupStage::host_memory;
  std::vector<Charge> charges{
      {HostPurpose::system, environment.system_bytes, kHost, "kernel and services"},
      {HostPurpose::processes, environment.processes_bytes, kHost, "other processes"},
      {HostPurpose::tmpfs, environment.tmpfs_bytes, kHost, "tmpfs"}};
  if (request.tensor_parallel >= 2) {
    const ByteCount shared = request.tensor_parallel * kNcclSegmentsPerRank * kNcclSegmentBytes;
    charges.push_back({HostPurpose::tmpfs, shared, kHost, "/dev/shm for NCCL"});
  }
  charges.push_back(
      {HostPurpose::engine_host, environment.engine_host_bytes, kHost, "the engine's host memory"});
  return charges;
}

std::vector<Charge> device_charges(const Environment& environment, const HostRequest& request,
                                   const MemoryBudget& budget) {
  const BudgetTerms& terms = budget.terms;
  const ByteCount pass = terms[MemoryPurpose::activations] + terms[MemoryPurpose::context] +
                         terms[MemoryPurpose::communication];
  const ByteCount weights = terms[MemoryPurpose::weights] + terms[MemoryPurpose::drafter];
  return {{HostPurpose::device, weights, StartupStage::weights, "weights"},
          {HostPurpose::engine_host, compile_bytes(environment, request), StartupStage::profiling,
           "just-in-time compilation"},
          {HostPurpose::device, pass, StartupStage::profiling, "the profiling pass"},
          {HostPurpose::device, terms[MemoryPurpose::kv_pool], StartupStage::kv_allocation,
           "the KV pool"},
          {HostPurpose::device, terms[MemoryPurpose::graphs], StartupStage::graph_capture,
           "captured graphs"}};
}

std::string advice(HostRefusal refusal) {
  if (refusal == HostRefusal::shm_full) {
    return "/dev/shm is at its limit: --shm-size or --ipc=host";
  }
  if (refusal == HostRefusal::cgroup_kill)
    return "the container's memory limit is reached: the kernel kills a process in it";
  if (refusal == HostRefusal::host_oom) return "host memory is used up: the kernel kills a process";
  return "device allocations use up the shared memory and cannot be swapped: the machine stops "
         "answering";
}

StartupFailure failure_of(const HostLedger& ledger, const Charge& charge, HostRefusal refusal) {
  StartupFailure failure;
  failure.stage = charge.stage;
  failure.wanted_bytes = charge.bytes;
  failure.free_bytes = ledger.left_of(refusal);
  if (refusal == HostRefusal::host_oom) failure.kind = StartupKind::host_oom;
  if (refusal == HostRefusal::cgroup_kill) failure.kind = StartupKind::cgroup_kill;
  if (refusal == HostRefusal::host_freeze) failure.kind = StartupKind::host_freeze;
  failure.message = fmt::format("{}: {:.2f} GiB for {}, {:.2f} GiB left; {}", name_of(refusal),
                                gib_from_bytes(charge.bytes), charge.what,
                                gib_from_bytes(failure.free_bytes), advice(refusal));
  return failure;
}

std::vector<Charge> all_charges(const Environment& environment, const HostRequest& request,
                                const MemoryBudget& budget) {
  std::vector<Charge> charges = host_charges(environment, request);
  if (shares_memory(request) && !budget.failure) {
    const std::vector<Charge> device = device_charges(environment, request, budget);
    charges.insert(charges.end(), device.begin(), device.end());
  } else {
    charges.push_back({HostPurpose::engine_host, compile_bytes(environment, request),
                       StartupStage::profiling, "just-in-time compilation"});
  }
  return charges;
}

HostLimits limits_of(const Environment& environment, const HostRequest& request) {
  HostLimits limits;
  limits.total_bytes = kUnlimited;
  limits.shm_bytes = environment.shm_size_bytes;
  limits.host_bytes = environment.memory_limit_bytes;
  limits.device_is_heap = request.cpu_backend;
  if (request.device.memory_model != MemoryModel::unified) return limits;
  const DeviceSpec& device = request.device;
  limits.total_bytes = nvidia_shared(device)
                           ? device.memory_reported_bytes
                           : std::max(device.memory_nominal_bytes, device.memory_reported_bytes);
  limits.reserve_bytes = freeze_reserve(limits.total_bytes);
  return limits;
}

}  // namespace

std::optional<StartupFailure> host_failure(const Environment& environment,
                                           const HostRequest& request, const MemoryBudget& budget) {
  HostLimits limits = limits_of(environment, request);
  // An engine that reads MemAvailable starts on the last of it, too: three of three logged starts
  // at 0.95 of a GB10 did. What they left is too little to be safe, which the rules say in a note.
  if (request.metric == FreeMetric::mem_available) limits.reserve_bytes = 0;
  HostLedger ledger(limits);
  for (const Charge& charge : all_charges(environment, request, budget)) {
    const HostRefusal refusal = ledger.charge(charge.purpose, charge.bytes);
    if (refusal != HostRefusal::none) return failure_of(ledger, charge, refusal);
  }
  return std::nullopt;
}

HostLedger host_after_start(const Environment& environment, const HostRequest& request,
                            const MemoryBudget& budget) {
  const std::vector<Charge> charges = all_charges(environment, request, budget);
  ByteCount charged = 0;
  for (const Charge& charge : charges) charged += charge.bytes;
  HostLimits limits = limits_of(environment, request);
  // A start that went below the reserve has none left.
  limits.reserve_bytes =
      std::clamp<ByteCount>(limits.total_bytes - charged, 0, limits.reserve_bytes);
  HostLedger ledger(limits);
  for (const Charge& charge : charges) {
    const HostRefusal refusal = ledger.charge(charge.purpose, charge.bytes);
    HEADROOM_CHECK(refusal == HostRefusal::none, "the host of an engine that did not start");
  }
  ByteCount files = environment.page_cache_bytes;
  if (environment.checkpoint_cache_share > 0) {
    files += share_of(request.checkpoint_bytes, environment.checkpoint_cache_share);
  }
  ledger.read_files(files);
  return ledger;
}

namespace {

void discrete_notes(const Environment& environment, const HostRequest& request,
                    std::vector<std::string>& notes) {
  if (environment.container) {
    notes.emplace_back(
        "the device has its own memory: a container does not change it, only host memory and "
        "/dev/shm of the ranks");
  }
  if (request.device.memory_model == MemoryModel::coherent_discrete) {
    notes.push_back(fmt::format(
        "the device's memory is a NUMA node of the host, so page cache can occupy it and count as "
        "used; {:.2f} GiB are assumed here (vLLM issue 35313: 74.9 of 142.5 GiB free at start; "
        "TensorRT-LLM pull request 13955: differs between ranks of a GB200)",
        gib_from_bytes(environment.device_page_cache_bytes)));
  }
}

void metric_notes(const HostRequest& request, std::vector<std::string>& notes) {
  if (request.metric == FreeMetric::mem_free) {
    notes.emplace_back(
        "the engine reads MemFree as free memory, so page cache counts as used (remedy: sync, then "
        "drop the page cache before the start)");
  } else if (request.metric == FreeMetric::mem_available) {
    notes.push_back(fmt::format(
        "the engine reads MemAvailable as free memory, which includes page cache and is too high "
        "near exhaustion; the {:.0f} GiB of slack are an estimate (vLLM issues 54200, 56824)",
        gib_from_bytes(kAvailableSlackBytes)));
  } else {
    notes.emplace_back(
        "shared memory of another vendor: the driver's working set is taken as free memory, "
        "without page cache or overheads of the environment; unscored");
  }
}

void limit_notes(const Environment& environment, const HostRequest& request,
                 std::vector<std::string>& notes) {
  if (environment.memory_limit_bytes && !request.cpu_backend) {
    notes.push_back(fmt::format(
        "the container's limit of {:.2f} GiB bounds the engine's host memory and its /dev/shm, not "
        "device allocations (GB10: 12 GiB allocated under a limit of 8 GiB, about 2 MB charged per "
        "GiB: model-serving-minefield issue 57)",
        gib_from_bytes(*environment.memory_limit_bytes)));
  }
  if (environment.shm_size_bytes && environment.tmpfs_bytes == 0) {
    notes.push_back(
        fmt::format("/dev/shm is limited to {:.2f} GiB; only files in it use memory, and it is "
                    "assumed to be empty",
                    gib_from_bytes(*environment.shm_size_bytes)));
  }
}

}  // namespace

std::vector<std::string> environment_notes(const Environment& environment,
                                           const HostRequest& request) {
  std::vector<std::string> notes;
  const bool shared = request.device.memory_model == MemoryModel::unified;
  if (shared) {
    metric_notes(request, notes);
  } else {
    discrete_notes(environment, request, notes);
  }
  limit_notes(environment, request, notes);
  const bool cache_on_device = request.device.memory_model == MemoryModel::coherent_discrete &&
                               environment.device_page_cache_bytes > 0;
  // Of another vendor nothing of the environment is counted.
  const bool counted = shared && request.metric != FreeMetric::device;
  if (counted || cache_on_device) {
    notes.push_back(fmt::format(
        "environment {}: {} ({})", environment.id,
        environment.scored ? "measured" : "by documented rules, compared with no measurement",
        environment.source));
    notes.insert(notes.end(), environment.assumptions.begin(), environment.assumptions.end());
  }
  return notes;
}

}  // namespace headroom
