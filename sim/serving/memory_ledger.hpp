#pragma once
// Port: bytes by purpose. Every byte has a purpose, and the purposes add up to the capacity.

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/serving/types.hpp"

namespace headroom {

enum class MemoryPurpose : std::uint8_t {
  weights,
  drafter,        // weights of a speculative drafter; its KV is in the pool
  adapters,       // slots for LoRA adapters, set aside before any is loaded
  activations,    // peak of the engine's profiling pass
  context,        // CUDA context and growth outside the framework's allocator
  graphs,         // captured CUDA graphs
  communication,  // NCCL and all-reduce buffers
  others,         // other processes, driver, the host's share
  page_cache,     // of files, on unified memory where the engine reads free memory without it
  engine_host,    // the engine's own host memory on unified memory: pinned buffers, compiler heap
  kv_pool,
  margin  // left over on purpose, e.g. 1 - gpu_memory_utilization
};
inline constexpr std::size_t kMemoryPurposeCount = 12;
[[nodiscard]] std::string_view name_of(MemoryPurpose purpose);
// Results name every purpose, but adapters and drafters only where there are any.
[[nodiscard]] constexpr bool is_listed(MemoryPurpose purpose, ByteCount bytes) {
  return bytes > 0 || (purpose != MemoryPurpose::adapters && purpose != MemoryPurpose::drafter);
}

enum class LedgerRefusal : std::uint8_t { none, exceeds_capacity };

class MemoryLedger {
 public:
  virtual ~MemoryLedger() = default;
  // Charges bytes >= 0, or refuses and changes nothing.
  [[nodiscard]] virtual LedgerRefusal charge(MemoryPurpose purpose, ByteCount bytes) = 0;
  // Gives back what was charged before; more than that is a bug and fails a check.
  virtual void release(MemoryPurpose purpose, ByteCount bytes) = 0;
  [[nodiscard]] virtual ByteCount charged(MemoryPurpose purpose) const = 0;
  [[nodiscard]] virtual ByteCount free_bytes() const = 0;
};

// A device (or host) of fixed capacity.
class DeviceLedger final : public MemoryLedger {
 public:
  explicit DeviceLedger(ByteCount capacity_bytes);
  [[nodiscard]] LedgerRefusal charge(MemoryPurpose purpose, ByteCount bytes) override;
  void release(MemoryPurpose purpose, ByteCount bytes) override;
  [[nodiscard]] ByteCount charged(MemoryPurpose purpose) const override;
  [[nodiscard]] ByteCount free_bytes() const override { return free_bytes_; }
  [[nodiscard]] ByteCount capacity_bytes() const { return capacity_bytes_; }

 private:
  ByteCount capacity_bytes_;
  ByteCount free_bytes_;
  std::array<ByteCount, kMemoryPurposeCount> charged_{};
};

}  // namespace headroom
