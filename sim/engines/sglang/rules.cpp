#include "sim/engines/sglang/rules.hpp"

namespace headroom {

// Read in managers/schedule_policy.py (PrefillAdder) and managers/scheduler.py of the releases.
SglangRules sglang_rules(SglangRelease release) {
  constexpr SglangRelease kCountsPages{0, 4, 8};
  constexpr SglangRelease kPiecesLeaveOutput{0, 5, 2};
  constexpr SglangRelease kExpectsRest{0, 5, 4};
  constexpr SglangRelease kAddsPage{0, 5, 10};
  constexpr SglangRelease kTestsPage{0, 5, 11};
  constexpr SglangRelease kCountsRows{0, 5, 12};
  constexpr SglangRelease kClipsInPages{0, 5, 12};
  constexpr SglangRelease kIdleWithoutQueue{0, 5, 12};
  constexpr SglangRelease kLimitsWholePrompts{0, 5, 13};
  // scheduler.py: _reqs_finishing_inflight() and its use in update_running_batch().
  constexpr SglangRelease kSkipsLastStep{0, 5, 22};
  // scheduler.py: num_held_rows in get_num_allocatable_reqs(), the filter_batch() of every
  // get_next_batch_to_run(), and budget_state() in front of the loop over the queue.
  constexpr SglangRelease kCountsRowsOnce{0, 5, 23};
  return {.counts_pages = release >= kCountsPages,
          .pieces_leave_output = release >= kPiecesLeaveOutput,
          .expects_rest = release >= kExpectsRest,
          .adds_page = release >= kAddsPage,
          .tests_page = release >= kTestsPage,
          .counts_rows = release >= kCountsRows && release < kCountsRowsOnce,
          .clips_in_pages = release >= kClipsInPages,
          .limits_pieces = release < kLimitsWholePrompts,
          .idle_without_queue = release >= kIdleWithoutQueue,
          .skips_last_step = release >= kSkipsLastStep,
          .filters_always = release >= kCountsRowsOnce,
          .stops_when_spent = release >= kCountsRowsOnce};
}

// Read in mem_cache/common.py (evict_from_tree_cache).
RadixOptions sglang_radix(SglangRelease release) {
  constexpr SglangRelease kEvictsWhatLacks{0, 5, 20};
  return {.evicts_all = release < kEvictsWhatLacks};
}

}  // namespace headroom
