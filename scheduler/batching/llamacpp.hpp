#pragma once
// llama.cpp's server (server-context.cpp, update_slots; continuous batching, its default): a
// request takes a free slot, or is deferred, first come first served. A step is one batch of at
// most n_batch tokens: first one token of each slot that generates, then prompts in the order of
// the slots, the last one cut where the batch is full. So a request with a lower slot overtakes
// earlier ones whose prompts are not complete. Nothing is preempted.
//
// Slots that own their cells hold their longest context. Shared cells (kv_unified) are taken as
// tokens are computed, whatever a request asks for, so running requests may outgrow them. A batch
// that does not fit is cut where the cells end; one of which nothing fits fails every request that
// has a slot ("Context size has been exceeded."), and the deferred ones get the slots.
//
// max_num_seqs is n_parallel, max_num_batched_tokens n_batch, max_model_len the context of a slot.
// Prompts are always cut (enable_chunked_prefill is not looked at). Which slot a request gets, and
// what it finds there, is decided by the allocator.
//
// Limits: the real server splits a step into several batches when more slots generate than n_batch.
// It finds the part of a batch that fits by halves, and computes it also where fewer cells are left
// than slots generate: that step is failed here at once, one token of some of them earlier.

#include <cstdint>
#include <vector>

#include "scheduler/batching/batch_policy.hpp"
#include "scheduler/batching/request_list.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"
#include "sim/serving/slot_assignment.hpp"

namespace headroom {

class LlamaCppScheduler final : public BatchScheduler {
 public:
  // `slots` is the allocator of the same replica: the order of its slots is that of the prompts.
  LlamaCppScheduler(const SchedulerOptions& options, const SlotAssignment& slots);

  void enqueue(RequestId id, const Request& request) override;
  void plan(const PlanContext& context, BatchPlan& plan) override;
  [[nodiscard]] bool on_leave(RequestId id) override;
  void on_engine_lost() override;

 private:
  // A request that has a slot, and whose prompt is not complete.
  struct Prompt {
    std::int32_t slot = 0;
    RequestId id = kNoRequest;
    std::int32_t computed_tokens = 0;  // what it found in the slot included
    bool begun = false;                // has had a chunk
    std::uint64_t launch = 0;          // rank among all that got a slot
  };
  void give_slots(const PlanContext& context);
  void fill_batch(const PlanContext& context, BatchPlan& plan);
  void fail_all(const PlanContext& context, BatchPlan& plan);

  SchedulerOptions options_;
  const SlotAssignment& slots_;
  RequestList waiting_;          // deferred: without a slot
  std::vector<Prompt> prompts_;  // by slot
  std::uint64_t launches_ = 0;
};

[[nodiscard]] const BatchPolicy& llamacpp_policy();

}  // namespace headroom
