#include "sim/serving/link.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {

SerialLink::SerialLink(std::int64_t bytes_per_s, TimeNs latency_ns)
    : bytes_per_s_(bytes_per_s), latency_ns_(latency_ns) {
  HEADROOM_CHECK(bytes_per_s > 0 && latency_ns >= 0, "a link needs a rate > 0 and a latency >= 0");
}

TimeNs SerialLink::transfer(ByteCount bytes, TimeNs now_ns) {
  HEADROOM_CHECK(bytes >= 0, "a transfer has no negative size");
  const Int128 wire_ns =
      (static_cast<Int128>(bytes) * kNsPerSecond + bytes_per_s_ - 1) / bytes_per_s_;
  busy_until_ns_ = std::max(now_ns, busy_until_ns_) + latency_ns_ + static_cast<TimeNs>(wire_ns);
  return busy_until_ns_;
}

}  // namespace headroom
