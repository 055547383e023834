#pragma once
// The ways in which memory runs out, and what a ledger says when it refuses.

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/serving/memory_ledger.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

// DESIGN.md 4.
enum class OomKind : std::uint8_t {
  startup,
  rejected_too_long,  // longer than the empty pool holds, or than the scheduler can ever run
  runtime_device,     // an allocation on the device failed: the engine dies
  fragmentation,
  thrash,
  runtime_host,  // host memory is used up: the kernel kills the engine
  cgroup_kill,   // the container's limit: killed in it
  host_freeze,   // shared memory is used up by device allocations: the machine stops answering
  // Of rejections only, and no lack of memory: longer than the engine takes (vLLM: HTTP 400, "This
  // model's maximum context length is ...").
  context_length_exceeded,
  kv_cells  // running requests outgrew the cells that they share: they fail, the engine goes on
};

[[nodiscard]] std::string_view name_of(OomKind kind);  // as result files spell it

struct PurposeBytes {
  std::string_view purpose = {};
  ByteCount bytes = 0;
};

// A refusal while an engine runs.
struct MemoryShortage {
  OomKind kind = OomKind::runtime_device;
  ByteCount wanted_bytes = 0;
  ByteCount free_bytes = 0;  // for it
  // Who held the rest: the purposes of the ledger that refused, in their order, without the growth
  // that it refused. Unused entries have no name.
  std::array<PurposeBytes, kMemoryPurposeCount> held{};
};

}  // namespace headroom
