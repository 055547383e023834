#include "sim/serving/kv_links.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {

KvLinks::KvLinks(std::size_t replicas, std::int64_t bytes_per_s, TimeNs latency_ns)
    : bytes_per_s_(bytes_per_s), latency_ns_(latency_ns), free_at_ns_(replicas) {
  HEADROOM_CHECK(bytes_per_s > 0 && latency_ns >= 0, "a link needs a rate > 0 and a latency >= 0");
}

KvLinks::Trip KvLinks::transfer(std::uint32_t from, std::uint32_t to, ByteCount bytes,
                                TimeNs now_ns) {
  HEADROOM_CHECK(bytes >= 0 && from != to, "a transfer between two replicas");
  const Int128 wire_ns =
      (static_cast<Int128>(bytes) * kNsPerSecond + bytes_per_s_ - 1) / bytes_per_s_;
  Trip trip;
  trip.begin_ns = std::max({now_ns, free_at_ns_[from], free_at_ns_[to]});
  trip.sent_ns = trip.begin_ns + static_cast<TimeNs>(wire_ns);
  trip.end_ns = trip.sent_ns + latency_ns_;
  free_at_ns_[from] = free_at_ns_[to] = trip.sent_ns;
  return trip;
}

}  // namespace headroom
