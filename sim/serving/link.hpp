#pragma once
// Port: a path over which bytes move (swap, offload, KV hand-over), in the order they were asked
// for.

#include <memory>

#include "sim/kernel/time.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class Link {
 public:
  virtual ~Link() = default;
  // Reserves a transfer of `bytes` asked for at `now_ns` (non-decreasing) and returns when it ends.
  [[nodiscard]] virtual TimeNs transfer(ByteCount bytes, TimeNs now_ns) = 0;
};

// One transfer at a time at a constant rate, each after a fixed latency: the end of a transfer is
// max(now, end of the one before) + latency + ceil(bytes / rate), in whole ns.
class SerialLink final : public Link {
 public:
  SerialLink(std::int64_t bytes_per_s, TimeNs latency_ns);
  [[nodiscard]] TimeNs transfer(ByteCount bytes, TimeNs now_ns) override;

 private:
  std::int64_t bytes_per_s_;
  TimeNs latency_ns_;
  TimeNs busy_until_ns_ = 0;
};

// The paths between a pool and its second tier. A step does not begin before the blocks of its plan
// are copied, so the links are idle whenever one begins: copies of different steps never queue.
struct TierLinks {
  ByteCount block_bytes = 0;        // of one rank; all ranks copy side by side
  std::unique_ptr<Link> to_device;  // null: there is no second tier
  std::unique_ptr<Link> to_host;    // null: both directions share `to_device`
  std::unique_ptr<Link> from_disk;  // null: no disk
};

}  // namespace headroom
