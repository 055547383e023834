#include "sim/serving/memory_ledger.hpp"

#include <fmt/format.h>

#include "sim/kernel/check.hpp"

namespace headroom {

std::string_view name_of(MemoryPurpose purpose) {
  static constexpr std::array<std::string_view, kMemoryPurposeCount> kNames{
      "weights",       "drafter", "adapters",   "activations", "context", "graphs",
      "communication", "others",  "page_cache", "engine_host", "kv_pool", "margin"};
  return kNames[static_cast<std::size_t>(purpose)];
}

DeviceLedger::DeviceLedger(ByteCount capacity_bytes)
    : capacity_bytes_(capacity_bytes), free_bytes_(capacity_bytes) {
  HEADROOM_CHECK(capacity_bytes >= 0, fmt::format("capacity {} bytes", capacity_bytes));
}

LedgerRefusal DeviceLedger::charge(MemoryPurpose purpose, ByteCount bytes) {
  HEADROOM_CHECK(bytes >= 0, fmt::format("charge of {} bytes", bytes));
  if (bytes > free_bytes_) return LedgerRefusal::exceeds_capacity;
  charged_[static_cast<std::size_t>(purpose)] += bytes;
  free_bytes_ -= bytes;
  return LedgerRefusal::none;
}

void DeviceLedger::release(MemoryPurpose purpose, ByteCount bytes) {
  ByteCount& held = charged_[static_cast<std::size_t>(purpose)];
  HEADROOM_CHECK(bytes >= 0 && bytes <= held,
                 fmt::format("release of {} of {} bytes of {}", bytes, held, name_of(purpose)));
  held -= bytes;
  free_bytes_ += bytes;
}

ByteCount DeviceLedger::charged(MemoryPurpose purpose) const {
  return charged_[static_cast<std::size_t>(purpose)];
}

}  // namespace headroom
