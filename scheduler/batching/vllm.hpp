#pragma once
// vLLM V1 (reference: v0.19; docs/semantics.md 6, ENGINES.md 3.1): running requests first, a token
// budget per step, chunked prefill, the whole prompt must fit before a request is admitted,
// preemption by recompute. Synchronous or asynchronous: the pipeline depth of the replica decides,
// the rules are the same.
//
// Policy fcfs preempts the last running request and puts it at the front of the queue; policy
// priority preempts the one with the largest (priority, arrival) and queues it by that order.
//
// One plan costs O(changes), not O(batch): running requests that decode are known as a sum, and
// only those whose prompt is not complete are looked at one by one. Without
// long_prefill_token_threshold there is at most one, and under fcfs it is the last running request:
// a chunk is cut short only by the end of the budget, so nothing is admitted behind it until its
// prompt is complete.
//
// Where this differs from vLLM's loop over the running list:
// - Decodes take their tokens first. vLLM lets a prompt that was admitted before them (possible
//   with a threshold or priorities) take its chunk first, so that with a short budget decodes
//   behind it miss the step. Who is preempted is the same: the next victims, until the decodes and
//   the chunks of those left fit (under priority only while the budget is not short).
// - A victim that needs a block itself ends vLLM's loop; under priority those behind it then miss
//   the step. Here they still decode.
//
// With LoRA (fcfs only) whoever waits for another adapter than the batch's, when it has as many as
// it may, is passed over: the first of the others is found in O(max_loras).
//
// Requests whose KV has come from another replica are looked at before all others that wait (vLLM:
// skipped_waiting; scheduler.py, _select_waiting_queue_for_scheduling). Without LoRA and drafts.
//
// With speculative decoding (fcfs only; vllm_speculation.cpp) a plan is vLLM's loop itself, row by
// row: O(batch).

#include <cstdint>
#include <string>

#include "scheduler/batching/adapter_queue.hpp"
#include "scheduler/batching/batch_policy.hpp"
#include "scheduler/batching/policy_queue.hpp"
#include "scheduler/batching/request_list.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

// The engine's own options, as scenarios give them (vLLM 0.19: vllm/config/scheduler.py).
struct VllmScheduling {
  bool scheduler_reserve_full_isl = true;
  std::int64_t long_prefill_token_threshold = 0;
  std::string scheduling_policy = "fcfs";
};

class VllmScheduler final : public BatchScheduler {
 public:
  explicit VllmScheduler(const SchedulerOptions& options);

  void enqueue(RequestId id, const Request& request) override;
  void enqueue_arrived(RequestId id, const Request& request) override;
  void plan(const PlanContext& context, BatchPlan& plan) override;
  [[nodiscard]] bool on_leave(RequestId id) override;
  void on_engine_lost() override;

 private:
  void plan_verified(const PlanContext& context, BatchPlan& plan);
  [[nodiscard]] bool run_verified(const PlanContext& context, BatchPlan& plan, RequestId id,
                                  TokenCount& budget);
  void make_room(const PlanContext& context, BatchPlan& plan);
  void continue_prefills(const PlanContext& context, BatchPlan& plan, TokenCount& budget);
  void admit_waiting(const PlanContext& context, BatchPlan& plan, TokenCount& budget);
  void preempt(const PlanContext& context, BatchPlan& plan, RequestId id);
  [[nodiscard]] RequestId next_waiting(const PlanContext& context) const;
  void leave_queue(RequestId id);
  [[nodiscard]] BlockCount blocks_for_chunks(const PlanContext& context) const;
  [[nodiscard]] TokenCount uncut_chunk(TokenCount left) const;

  SchedulerOptions options_;
  SchedulingPolicy policy_;
  bool reserve_full_isl_;
  PolicyQueue running_;              // fcfs: in order of admission
  PolicyQueue waiting_;              // fcfs: preempted ones at the front
  AdapterQueue waiting_by_adapter_;  // the same; only with LoRA
  RequestList arrived_;              // wait with their KV, in order of its arrival
  RequestList prefilling_;  // running ones whose prompt is not complete, in order of admission
};

[[nodiscard]] const BatchPolicy& vllm_policy();

}  // namespace headroom
