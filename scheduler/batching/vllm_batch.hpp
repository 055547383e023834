#pragma once
// What vLLM V1's schedulers with and without drafts share: which requests wait and run, and which
// are admitted and preempted (ENGINES.md 3.1).
//
// Policy fcfs preempts the last running request and puts it at the front of the queue; policy
// priority preempts the one with the largest (priority, arrival) and queues it by that order.
//
// With LoRA (fcfs only), once the batch has its most adapters, requests waiting for a different
// adapter are skipped. Requests whose KV came from another replica are considered before all others
// that wait (vLLM: skipped_waiting; scheduler.py, _select_waiting_queue_for_scheduling).

#include <algorithm>
#include <cstdint>
#include <string>

#include "scheduler/batching/policy_queue.hpp"
#include "scheduler/batching/request_list.hpp"
#include "scheduler/batching/waiting_queue.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

// The engine's own options, as scenarios give them (vLLM 0.19: vllm/config/scheduler.py).
struct VllmScheduling {
  bool scheduler_reserve_full_isl = true;
  std::int64_t long_prefill_token_threshold = 0;
  bool threshold_cuts_lone_prompts = true;
  std::string scheduling_policy = "fcfs";
};

class VllmBatch : public BatchScheduler {
 public:
  void enqueue(RequestId id, const Request& request) final { waiting_.push_back(id, request); }
  [[nodiscard]] bool on_leave(RequestId id) final;
  void on_engine_lost() final;

 protected:
  explicit VllmBatch(const SchedulerOptions& options);

  [[nodiscard]] const SchedulerOptions& options() const { return options_; }
  [[nodiscard]] SchedulingPolicy policy() const { return policy_; }
  [[nodiscard]] WaitingQueue& waiting() { return waiting_; }
  // fcfs: in order of admission.
  [[nodiscard]] const PolicyQueue& running() const { return running_; }
  // Running ones whose prompt is not complete, in order of admission.
  [[nodiscard]] const RequestList& prefilling() const { return prefilling_; }
  [[nodiscard]] RequestId next_waiting(const PlanContext& context) const {
    return waiting_.next(context.adapters);
  }

  // The next chunk of a prompt that lacks `left` tokens, where nothing else cuts it.
  [[nodiscard]] TokenCount uncut_chunk(TokenCount left) const {
    const TokenCount threshold = options_.long_prefill_token_threshold;
    if (mostly(threshold == 0)) return left;
    const bool alone = running_.size() + waiting_.size() == 1;
    return alone && !cuts_lone_prompts_ ? left : std::min(left, threshold);
  }

  // Admits those that wait, in order, until one does not fit; takes their chunks off `budget`.
  void admit_waiting(const PlanContext& context, BatchPlan& plan, TokenCount& budget);
  // Back to the queue, without its blocks.
  void preempt(const PlanContext& context, BatchPlan& plan, RequestId id);
  void complete_prompt(RequestId id) { prefilling_.remove(id); }

 private:
  SchedulerOptions options_;
  SchedulingPolicy policy_;
  bool reserve_full_isl_;
  bool cuts_lone_prompts_;
  PolicyQueue running_;
  WaitingQueue waiting_;
  RequestList prefilling_;
};

// The names of `scheduling_policy`.
[[nodiscard]] SchedulingPolicy policy_of(const VllmScheduling& own);
[[nodiscard]] std::string scheduling_policy_names();

}  // namespace headroom
