#include "sim/memory/startup_timeline.hpp"

#include <algorithm>

#include "hardware/environment.hpp"

namespace headroom {
namespace {

// Files in the page cache of shared memory. An engine that reads MemFree has them among its terms.
class FileCache {
 public:
  explicit FileCache(const BudgetedSystem& system)
      : capacity_(system.budget.capacity_bytes), request_(host_request(system.resolved)) {
    is_shown_ = shares_memory(request_) && system.budget.terms[MemoryPurpose::page_cache] == 0;
    before_ = system.resolved.environment.page_cache_bytes;
  }

  [[nodiscard]] std::optional<ByteCount> after(StartupStage stage, ByteCount held) const {
    if (!is_shown_) return std::nullopt;
    const bool is_read = stage >= StartupStage::weights;
    const ByteCount files = before_ + (is_read ? request_.checkpoint_bytes : 0);
    return std::clamp<ByteCount>(capacity_ - held, 0, files);
  }

 private:
  ByteCount capacity_;
  HostRequest request_;
  ByteCount before_ = 0;
  bool is_shown_ = false;
};

}  // namespace

StartupTimeline startup_timeline(const BudgetedSystem& system) {
  const MemoryBudget& budget = system.budget;
  const FileCache cache(system);
  StartupTimeline line;
  line.capacity_bytes = budget.capacity_bytes;
  line.fails = budget.failure.has_value();
  ByteCount held = 0;
  for (const StartupCharge& charge : budget.charges) {
    // The host may end a start that the engine's own rule lets pass.
    if (line.fails && charge.stage > budget.failure->stage) continue;
    held += charge.bytes;
    line.moments.push_back(
        {charge.stage, charge.purpose, charge.bytes, held, cache.after(charge.stage, held)});
  }
  if (line.fails) {
    const StartupFailure& failure = *budget.failure;
    line.moments.push_back({failure.stage, std::nullopt, failure.wanted_bytes, held,
                            cache.after(failure.stage, held)});
  }
  return line;
}

}  // namespace headroom
