#include "sim/serving/host_ledger.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {

std::string_view name_of(HostPurpose purpose) {
  static constexpr std::array<std::string_view, kHostPurposeCount> kNames{
      "system", "processes", "tmpfs", "page_cache", "engine_host", "device"};
  return kNames[static_cast<std::size_t>(purpose)];
}

std::string_view name_of(HostRefusal refusal) {
  static constexpr std::array<std::string_view, 5> kNames{"none", "host_oom", "cgroup_kill",
                                                          "shm_full", "host_freeze"};
  return kNames[static_cast<std::size_t>(refusal)];
}

HostLedger::HostLedger(const HostLimits& limits)
    : limits_(limits), free_bytes_(limits.total_bytes) {
  HEADROOM_CHECK(
      limits.reserve_bytes >= 0 && limits.total_bytes >= limits.reserve_bytes,
      fmt::format("{} bytes in reserve of {}", limits.reserve_bytes, limits.total_bytes));
}

HostRefusal HostLedger::charge(HostPurpose purpose, ByteCount bytes) {
  HEADROOM_CHECK(bytes >= 0 && purpose != HostPurpose::page_cache,
                 fmt::format("charge of {} bytes of {}", bytes, name_of(purpose)));
  const HostRefusal refusal = refusal_of(purpose, bytes);
  if (refusal != HostRefusal::none) return refusal;
  const ByteCount short_of = bytes + limits_.reserve_bytes - free_bytes_;
  if (short_of > 0) {
    // A charge of 0 bytes below the reserve finds nothing to evict, and needs nothing.
    move(HostPurpose::page_cache, -std::min(short_of, charged(HostPurpose::page_cache)));
  }
  move(purpose, bytes);
  return HostRefusal::none;
}

void HostLedger::release(HostPurpose purpose, ByteCount bytes) {
  HEADROOM_CHECK(
      bytes >= 0 && bytes <= charged(purpose),
      fmt::format("release of {} of {} bytes of {}", bytes, charged(purpose), name_of(purpose)));
  move(purpose, -bytes);
}

void HostLedger::read_files(ByteCount bytes) {
  HEADROOM_CHECK(bytes >= 0, fmt::format("{} bytes read", bytes));
  const ByteCount room = std::max<ByteCount>(free_bytes_ - limits_.reserve_bytes, 0);
  move(HostPurpose::page_cache, std::min(bytes, room));
}

void HostLedger::drop_caches() { move(HostPurpose::page_cache, -charged(HostPurpose::page_cache)); }

ByteCount HostLedger::charged(HostPurpose purpose) const {
  return charged_[static_cast<std::size_t>(purpose)];
}

ByteCount HostLedger::mem_available_bytes() const {
  return free_bytes_ + charged(HostPurpose::page_cache);
}

ByteCount HostLedger::chargeable_bytes() const {
  return std::max<ByteCount>(mem_available_bytes() - limits_.reserve_bytes, 0);
}

ByteCount HostLedger::left_of(HostRefusal refusal) const {
  if (refusal == HostRefusal::shm_full) return *limits_.shm_bytes - charged(HostPurpose::tmpfs);
  if (refusal != HostRefusal::cgroup_kill) return chargeable_bytes();
  const ByteCount device = limits_.device_is_heap ? charged(HostPurpose::device) : 0;
  return *limits_.host_bytes - charged(HostPurpose::tmpfs) - charged(HostPurpose::engine_host) -
         device;
}

HostRefusal HostLedger::refusal_of(HostPurpose purpose, ByteCount bytes) const {
  if (bytes == 0) return HostRefusal::none;
  if (purpose == HostPurpose::tmpfs && limits_.shm_bytes &&
      bytes > *limits_.shm_bytes - charged(HostPurpose::tmpfs)) {
    return HostRefusal::shm_full;
  }
  const bool heap = purpose == HostPurpose::tmpfs || purpose == HostPurpose::engine_host ||
                    (limits_.device_is_heap && purpose == HostPurpose::device);
  if (heap && limits_.host_bytes) {
    ByteCount in_container = charged(HostPurpose::tmpfs) + charged(HostPurpose::engine_host);
    if (limits_.device_is_heap) in_container += charged(HostPurpose::device);
    if (bytes > *limits_.host_bytes - in_container) return HostRefusal::cgroup_kill;
  }
  if (bytes <= chargeable_bytes()) return HostRefusal::none;
  const bool pinned = purpose == HostPurpose::device && !limits_.device_is_heap;
  return pinned ? HostRefusal::host_freeze : HostRefusal::host_oom;
}

void HostLedger::move(HostPurpose purpose, ByteCount bytes) {
  charged_[static_cast<std::size_t>(purpose)] += bytes;
  free_bytes_ -= bytes;
  ByteCount sum = free_bytes_;
  for (const ByteCount charged_bytes : charged_) sum += charged_bytes;
  HEADROOM_CHECK(sum == limits_.total_bytes && free_bytes_ >= 0,
                 fmt::format("{} bytes by purpose and {} free of {}", sum - free_bytes_,
                             free_bytes_, limits_.total_bytes));
}

}  // namespace headroom
