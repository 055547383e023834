#pragma once
// A start moment by moment: what the engine takes, in its own order, and how much is held then.

#include <optional>
#include <vector>

#include "sim/resolve/startup_budget.hpp"

namespace headroom {

struct StartupMoment {
  StartupStage stage = StartupStage::weights;
  std::optional<MemoryPurpose> purpose;  // absent where a start fails: its message says what
  ByteCount bytes = 0;                   // taken now; where it fails, wanted
  ByteCount held_bytes = 0;              // after it
  // Of files that were read, in memory shared with the host: makes way for what is taken.
  std::optional<ByteCount> cached_bytes;
};

// Of one device; of memory that it shares with the host, of all. Nothing that is taken is given
// back: a framework keeps what its profiling pass took.
struct StartupTimeline {
  ByteCount capacity_bytes = 0;
  std::vector<StartupMoment> moments;  // where it fails, that is the last
  bool fails = false;
};

[[nodiscard]] StartupTimeline startup_timeline(const BudgetedSystem& system);

}  // namespace headroom
