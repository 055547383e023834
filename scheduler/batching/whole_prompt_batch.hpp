#pragma once
// The batch that vLLM V0 and Sarathi-Serve (a descendant of it) share: first come, first served; a
// request is admitted when the blocks of its whole prompt are free above a watermark, and holds
// room for all of it from then on. When blocks run out, the last running request is preempted,
// loses its KV and goes to the front of the queue. A request that can never be admitted is refused,
// also a preempted one that has outgrown the pool (V0's "can allocate" answers OK, LATER or NEVER).
//
// Blocks of an incomplete prompt are reserved here and count as used when its chunks are written,
// so that no request finds a prefix that is not computed yet.
//
// At most one running request is in the middle of its prompt, and it is the last one: a chunk is
// cut short only by the end of the budget.
//
// Simpler than the engines: they want a free block before each decode, whether it needs one or not;
// and V0 with chunks may still admit somebody in a step with a preemption.
//
// With swap_blocks > 0 a victim that decodes goes to host memory, if there is room for its blocks,
// and waits in a queue of its own: first swapped out, first back, behind the running ones, as soon
// as its blocks and one more fit above the watermark. Nobody is admitted while somebody is swapped
// out, and nobody returns in a step with a preemption (V0's scheduler; it dies when host memory is
// full, here the victim is computed again). What never fits again is refused.

#include <cstdint>
#include <vector>

#include "scheduler/batching/request_list.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

class WholePromptBatch {
 public:
  explicit WholePromptBatch(const SchedulerOptions& options);

  void enqueue(RequestId id) { waiting_.push_back(id); }
  void on_leave(RequestId id);
  void on_engine_lost();

  // One step: whole prompts up to the budget, while the decodes pause; without any, the decodes.
  void plan_prefill_first(const PlanContext& context, BatchPlan& plan);
  // One step: decodes, then the prompt in progress, then new ones, cut to the rest of the budget.
  // No request is admitted in a step with a preemption.
  void plan_decode_first(const PlanContext& context, BatchPlan& plan);

 private:
  enum class Room : std::uint8_t { now, later, never };
  enum class Prompts : std::uint8_t { whole, cut };
  struct Swapped {
    RequestId id = kNoRequest;
    BlockCount blocks = 0;
  };

  void decode(const PlanContext& context, BatchPlan& plan);
  void continue_prefill(const PlanContext& context, BatchPlan& plan, TokenCount& budget);
  void admit(const PlanContext& context, BatchPlan& plan, TokenCount& budget, Prompts prompts);
  void preempt_last(const PlanContext& context, BatchPlan& plan);
  void swap_out(const PlanContext& context, BatchPlan& plan, RequestId id);
  void swap_in(const PlanContext& context, BatchPlan& plan, TokenCount& budget);
  [[nodiscard]] BlockCount swapped_blocks(const PlanContext& context, RequestId id) const;
  void look_ahead(const PlanContext& context, BatchPlan& plan, TokenCount budget) const;
  [[nodiscard]] Room room_for(const PlanContext& context, const Request& request,
                              Prompts prompts) const;
  [[nodiscard]] BlockCount set_aside(const PlanContext& context) const;

  SchedulerOptions options_;
  RequestList running_;                // in order of admission
  RequestList waiting_;                // preempted ones at the front
  RequestId prefilling_ = kNoRequest;  // the one whose prompt is not complete
  std::vector<Swapped> swapped_;       // in host memory, first out first
  BlockCount swap_used_ = 0;
};

}  // namespace headroom
