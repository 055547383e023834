#pragma once
// The memory of a host by purpose, where host and device share one: what the kernel, processes,
// tmpfs, the engine's own heap, the page cache and device allocations take. The purposes and the
// free bytes add up to the total, which is asserted after every change.
//
// Page cache is a state, not a charge: reading files fills it from what is free, and any charge
// evicts it when nothing else is left. So MemFree falls byte for byte when files are read and
// MemAvailable does not (ENGINES.md 1.2; measured on a GB10: a 60 GB file moved free memory from
// 103.25 to 41.5 GiB and available memory not at all). There is no swap: device memory could not
// use it.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/serving/types.hpp"

namespace headroom {

enum class HostPurpose : std::uint8_t {
  system,       // kernel, driver, services
  processes,    // other processes
  tmpfs,        // files in memory, /dev/shm among them; never reclaimable
  page_cache,   // files that were read; reclaimable
  engine_host,  // the engine's own heap and pinned buffers
  device        // device allocations: neither swapped nor charged to a container
};
inline constexpr std::size_t kHostPurposeCount = 6;
[[nodiscard]] std::string_view name_of(HostPurpose purpose);

// Expected refusals. A charge is refused whole and changes nothing.
enum class HostRefusal : std::uint8_t {
  none,
  host_oom,     // the kernel kills a process
  cgroup_kill,  // the container's limit: the kernel kills in the container
  shm_full,     // tmpfs is at its size limit
  host_freeze   // no process can be killed for a device allocation: the machine stops answering
};
[[nodiscard]] std::string_view name_of(HostRefusal refusal);

struct HostLimits {
  ByteCount total_bytes = 0;
  ByteCount reserve_bytes = 0;          // the kernel needs these free; no charge gets them
  std::optional<ByteCount> shm_bytes;   // size limit of tmpfs
  std::optional<ByteCount> host_bytes;  // memory.max of the engine's container
  // Device allocations are the container's own heap and count against its limit: a CPU backend.
  bool device_is_heap = false;
};

class HostLedger {
 public:
  explicit HostLedger(const HostLimits& limits);

  // Takes bytes >= 0, from page cache when nothing else is free. `page_cache` cannot be charged.
  [[nodiscard]] HostRefusal charge(HostPurpose purpose, ByteCount bytes);
  // Gives back what was charged before; more than that is a bug and fails a check.
  void release(HostPurpose purpose, ByteCount bytes);
  // Reads `bytes` of files once; older cache makes room for newer, so what is cached grows until
  // memory is full.
  void read_files(ByteCount bytes);
  void drop_caches();

  [[nodiscard]] ByteCount charged(HostPurpose purpose) const;
  [[nodiscard]] ByteCount mem_free_bytes() const { return free_bytes_; }
  [[nodiscard]] ByteCount mem_available_bytes() const;
  // The largest charge of device memory that is not refused.
  [[nodiscard]] ByteCount chargeable_bytes() const;
  // The rest of the limit that refused.
  [[nodiscard]] ByteCount left_of(HostRefusal refusal) const;
  [[nodiscard]] const HostLimits& limits() const { return limits_; }

 private:
  [[nodiscard]] HostRefusal refusal_of(HostPurpose purpose, ByteCount bytes) const;
  void move(HostPurpose purpose, ByteCount bytes);  // out of what is free; back when negative

  HostLimits limits_;
  ByteCount free_bytes_;
  std::array<ByteCount, kHostPurposeCount> charged_{};
};

}  // namespace headroom
