#pragma once
// The network between replicas: each one has a port, over which KV leaves and comes in.

#include <cstdint>
#include <vector>

#include "sim/kernel/time.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

// A transfer has the ports of both its replicas to itself, at their common rate, and begins when
// both are free. Transfers over a port run in the order of their requests, and none overtakes, even
// while one of its ports is idle. So with several replicas on both sides the ports cannot be busy
// all the time (about 60 % with four and four). Near that load waits are overstated; far below it
// they are right. The latency comes on top and keeps no port busy. O(1) each.
class KvLinks {
 public:
  // bytes_per_s > 0, latency_ns >= 0.
  KvLinks(std::size_t replicas, std::int64_t bytes_per_s, TimeNs latency_ns);

  struct Trip {
    TimeNs begin_ns = 0;  // the ports are free
    TimeNs sent_ns = 0;   // they are free again
    TimeNs end_ns = 0;    // all of it is there
  };
  // Asked for at `now_ns` (non-decreasing). sent = begin + ceil(bytes / rate) in whole ns.
  [[nodiscard]] Trip transfer(std::uint32_t from, std::uint32_t to, ByteCount bytes, TimeNs now_ns);

 private:
  std::int64_t bytes_per_s_;
  TimeNs latency_ns_;
  std::vector<TimeNs> free_at_ns_;  // by replica; one that prefills only sends, the others receive
};

}  // namespace headroom
