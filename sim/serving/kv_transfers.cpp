#include "sim/serving/kv_transfers.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {

TickSum KvTransfers::take_delay(KvAllocator& kv, TickSum begin) {
  KvTraffic traffic = kv.take_traffic();
  traffic.loaded_blocks += pending_.loaded_blocks;
  traffic.stored_blocks += pending_.stored_blocks;
  pending_ = {};
  const TickSum moves = TickSum{traffic.moved_tokens} * move_ticks_per_token_;
  if (traffic.loaded_blocks == 0 && traffic.stored_blocks == 0) return moves;
  const TimeNs begin_ns = floor_ns(begin);
  TimeNs end_ns = begin_ns;
  const auto copy = [&](Link* link, BlockCount blocks) {
    if (blocks == 0) return;
    HEADROOM_CHECK(link != nullptr, "blocks move, and there is no link");
    end_ns = std::max(end_ns, link->transfer(blocks * links_.block_bytes, begin_ns));
  };
  copy(links_.to_host ? links_.to_host.get() : links_.to_device.get(), traffic.stored_blocks);
  copy(links_.to_device.get(), traffic.loaded_blocks);
  copy(links_.from_disk.get(), traffic.loaded_from_disk);
  return moves + ticks_from_ns(end_ns - begin_ns);
}

}  // namespace headroom
