#pragma once
// What the host of a device takes, natively or in a container. It matters where host and device
// share one memory: there the engine's "free" depends on the page cache, on tmpfs, on other
// processes and on which counter its version reads. On a discrete device a container changes
// nothing in device memory. Mechanisms: ENGINES.md 1.2; measured overheads: the published runs
// named in the rows' sources.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/budget/budget.hpp"
#include "hardware/engine_version.hpp"
#include "sim/serving/host_ledger.hpp"

namespace headroom {

// Bytes with their observed spread; all equal for an assumption.
struct ByteRange {
  ByteCount low = 0;
  ByteCount typical = 0;
  ByteCount high = 0;
};

struct Environment {
  std::string id;
  std::string title;
  bool container = false;
  ByteCount system_bytes = 0;               // kernel, driver, desktop and services at boot
  ByteCount processes_bytes = 0;            // other processes
  ByteCount tmpfs_bytes = 0;                // in use when the engine starts: never reclaimable
  std::optional<ByteCount> shm_size_bytes;  // limit of /dev/shm; absent: the host's
  ByteCount page_cache_bytes = 0;           // of earlier work, when the engine starts
  // Share of the checkpoint that is still page cache when the pool is sized: 1 after reading it
  // through the cache, 0 with direct reads or dropped caches.
  double checkpoint_cache_share = 0;
  // Page cache that the kernel put into the device's own memory: coherent devices only, where that
  // memory is a NUMA node of the host (vLLM issue 35313).
  ByteCount device_page_cache_bytes = 0;
  ByteCount engine_host_bytes = 0;  // runtime, pinned buffers, loading buffers of the engine
  ByteCount compile_bytes = 0;      // heap of just-in-time compilation while the engine starts
  // Share of the device allocations that is counted a second time (an explanation to test).
  double double_counted_share = 0;
  std::optional<ByteCount> memory_limit_bytes;  // docker --memory, cgroup v2 memory.max
  // A plain measured addition to what is not free, where no mechanism is assumed.
  std::optional<ByteRange> first_start_overhead;
  std::optional<ByteRange> steady_overhead;
  std::string measured_model;  // of those overheads, as on Hugging Face; empty: any
  bool scored = false;         // against measurements; else "mechanism, unscored"
  std::string source;
  std::vector<std::string> assumptions;  // each with its source, shown with every result
};

// Which figure an engine takes for free memory.
enum class FreeMetric : std::uint8_t {
  device,        // the driver's own count: discrete devices, and shared memory that is not NVIDIA's
  mem_free,      // unified: CUDA's free = MemFree, without the page cache
  mem_available  // unified: psutil's available = MemAvailable, reclaimable cache included
};
[[nodiscard]] std::string_view name_of(FreeMetric metric);  // as in MachineMemory

// What an engine reads on NVIDIA's shared memory (sm 87, 110, 121): MemAvailable, which counts the
// page cache as free, or MemFree.
[[nodiscard]] FreeMetric free_metric(bool counts_page_cache_free, const DeviceSpec& device);

enum class OverheadCase : std::uint8_t { low, typical, high };

// vLLM, SGLang: MemAvailable counts memory that the driver cannot get. A failed allocation was
// logged with 22.5 GiB available while Cached was 19.8 GiB and 119.2 of 121.7 GiB were in use (vLLM
// issue 54200), but the same message was seen in start-ups that succeeded (issue 56824). ENGINES.md
// 1.2 asks for "a few GiB". Estimate.
inline constexpr ByteCount kAvailableSlackBytes = ByteCount{4} << 30;
// Shared memory stops answering when this little is physically free: 119.2 of 121.7 GiB were in use
// in the window of vLLM issue 54200. One machine: an estimate.
inline constexpr ByteCount kFreezeReserveBytes = (ByteCount{5} << 30) / 2;

struct HostRequest {
  DeviceSpec device;
  FreeMetric metric = FreeMetric::device;
  ByteCount checkpoint_bytes = 0;  // files read on this host
  ByteCount device_bytes = 0;  // weights and activations that the engine will hold on the device
  std::int64_t tensor_parallel = 1;  // ranks of the engine on this host
  bool first_start = false;          // the first one after a change: compile caches are empty
  OverheadCase overhead = OverheadCase::typical;  // which end of a measured spread
  bool cpu_backend = false;  // "device" memory is the process's own heap, counted in a container
};

// The machine as the engine's budget rule sees it. Of shared memory:
// - others: system, processes, tmpfs and a measured overhead (when that appears is not known; it is
//   taken to be there before the engine starts);
// - cache_before, cache_growth (never negative): with MemFree only. Cache fills what is free and
// makes
//   way for the engine; what loading evicts is left out of both, so that the terms are those of the
//   moment when the pool is sized, and the first look is too kind by that much;
// - engine_host: its host memory, at a first start the compiler's heap, and what is counted twice.
[[nodiscard]] MachineMemory machine_memory(const Environment& environment,
                                           const HostRequest& request);

// What happens on the host while the engine starts with `budget`: /dev/shm too small for its ranks,
// the container's limit, host memory used up, or a machine that freezes. Empty when it starts. Only
// real bytes count: neither what is counted twice nor an overhead of unknown kind. A `budget` that
// fails is followed as far as the host is concerned.
[[nodiscard]] std::optional<StartupFailure> host_failure(const Environment& environment,
                                                         const HostRequest& request,
                                                         const MemoryBudget& budget);

// Whether device allocations are the host's memory.
[[nodiscard]] bool shares_memory(const HostRequest& request);

// The host once the engine has started with `budget`, which host_failure() must let start. Page
// cache is what of the files still fits.
[[nodiscard]] HostLedger host_after_start(const Environment& environment,
                                          const HostRequest& request, const MemoryBudget& budget);

// What a reader must know: a container that changes nothing on a discrete device, assumptions with
// their sources, "mechanism, unscored".
[[nodiscard]] std::vector<std::string> environment_notes(const Environment& environment,
                                                         const HostRequest& request);

// Rows of environments.json: {"about": text, "environments": [row, ...]}, in GiB. ConfigError with
// file and JSON pointer.
[[nodiscard]] std::vector<Environment> parse_environments(std::string_view text,
                                                          const std::string& shown_as);

}  // namespace headroom
