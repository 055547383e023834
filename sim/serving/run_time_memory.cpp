#include "sim/serving/run_time_memory.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr TimeNs kHourNs = 3600 * kNsPerSecond;
constexpr ByteCount kMostBytes = ByteCount{1} << 60;  // more than any machine has

ByteCount grown(ByteCount bytes_per_hour, TimeNs elapsed_ns) {
  const Int128 bytes = static_cast<Int128>(bytes_per_hour) * elapsed_ns / kHourNs;
  return static_cast<ByteCount>(std::min<Int128>(bytes, kMostBytes));
}

OomKind kind_of(HostRefusal refusal) {
  if (refusal == HostRefusal::cgroup_kill) return OomKind::cgroup_kill;
  return refusal == HostRefusal::host_freeze ? OomKind::host_freeze : OomKind::runtime_host;
}

MemoryShortage shortage_of(const DeviceLedger& device, ByteCount wanted) {
  MemoryShortage shortage;
  shortage.wanted_bytes = wanted;
  shortage.free_bytes = device.free_bytes();
  for (std::size_t i = 0; i < kMemoryPurposeCount; ++i) {
    const auto purpose = static_cast<MemoryPurpose>(i);
    const ByteCount bytes = device.charged(purpose);
    if (is_listed(purpose, bytes)) shortage.held[i] = {name_of(purpose), bytes};
  }
  return shortage;
}

MemoryShortage shortage_of(const HostLedger& host, HostRefusal refusal, ByteCount wanted) {
  MemoryShortage shortage;
  shortage.kind = kind_of(refusal);
  shortage.wanted_bytes = wanted;
  shortage.free_bytes = host.left_of(refusal);
  static_assert(kHostPurposeCount <= kMemoryPurposeCount);
  for (std::size_t i = 0; i < kHostPurposeCount; ++i) {
    const auto purpose = static_cast<HostPurpose>(i);
    shortage.held[i] = {name_of(purpose), host.charged(purpose)};
  }
  return shortage;
}

}  // namespace

RunTimeMemory::RunTimeMemory(RunTimeMemoryOptions options) : options_(std::move(options)) {
  HEADROOM_CHECK(options_.device_bytes_per_hour >= 0 && options_.host_bytes_per_hour >= 0 &&
                     options_.logprob_bytes_per_token >= 0 && options_.reusable_bytes >= 0,
                 "memory that is needed while an engine runs");
  HEADROOM_CHECK(options_.host || (!options_.shared && options_.host_bytes_per_hour == 0),
                 "growth on a host of unknown size");
  start(0);
}

std::optional<MemoryShortage> RunTimeMemory::take_device(DeviceLedger& device,
                                                         std::optional<HostLedger>& host,
                                                         ByteCount bytes) const {
  if (!options_.shared) {
    if (device.charge(MemoryPurpose::context, bytes) == LedgerRefusal::none) return std::nullopt;
    return shortage_of(device, bytes);
  }
  const HostRefusal refusal = host->charge(HostPurpose::device, bytes);
  if (refusal == HostRefusal::none) return std::nullopt;
  return shortage_of(*host, refusal, bytes);
}

std::optional<MemoryShortage> RunTimeMemory::refused(TimeNs elapsed_ns) const {
  DeviceLedger device = options_.device;
  std::optional<HostLedger> host = options_.host;
  const ByteCount on_device = grown(options_.device_bytes_per_hour, elapsed_ns);
  if (auto shortage = take_device(device, host, on_device)) return shortage;
  if (options_.host_bytes_per_hour == 0) return std::nullopt;
  const ByteCount on_host = grown(options_.host_bytes_per_hour, elapsed_ns);
  const HostRefusal refusal = host->charge(HostPurpose::engine_host, on_host);
  if (refusal == HostRefusal::none) return std::nullopt;
  return shortage_of(*host, refusal, on_host);
}

void RunTimeMemory::start(TimeNs now_ns) {
  started_ns_ = now_ns;
  fails_ns_ = kNever;
  if (!grows()) return;
  TimeNs fits = 0;
  TimeNs does_not = kNever - now_ns;
  if (!refused(does_not)) return;
  HEADROOM_CHECK(!refused(fits), "an engine that has just started runs out of memory");
  while (does_not - fits > 1) {
    const TimeNs middle = fits + (does_not - fits) / 2;
    (refused(middle) ? does_not : fits) = middle;
  }
  fails_ns_ = now_ns + does_not;
}

MemoryShortage RunTimeMemory::growth_shortage(TimeNs now_ns) const {
  const std::optional<MemoryShortage> shortage = refused(now_ns - started_ns_);
  HEADROOM_CHECK(shortage.has_value(), "growth that fits is no shortage");
  return *shortage;
}

std::optional<MemoryShortage> RunTimeMemory::logprob_shortage(TokenCount tokens,
                                                              TimeNs now_ns) const {
  const ByteCount wanted = tokens * options_.logprob_bytes_per_token;
  if (wanted <= options_.reusable_bytes) return std::nullopt;
  DeviceLedger device = options_.device;
  std::optional<HostLedger> host = options_.host;
  const TimeNs elapsed_ns = now_ns - started_ns_;
  const auto full = take_device(device, host, grown(options_.device_bytes_per_hour, elapsed_ns));
  HEADROOM_CHECK(!full, "an engine that has died of its growth");
  if (options_.host_bytes_per_hour > 0) {
    const ByteCount on_host = grown(options_.host_bytes_per_hour, elapsed_ns);
    const HostRefusal refusal = host->charge(HostPurpose::engine_host, on_host);
    HEADROOM_CHECK(refusal == HostRefusal::none, "an engine that has died of its growth");
  }
  auto shortage = take_device(device, host, wanted - options_.reusable_bytes);
  if (!shortage) return std::nullopt;
  shortage->wanted_bytes = wanted;
  shortage->free_bytes += options_.reusable_bytes;
  return shortage;
}

}  // namespace headroom
