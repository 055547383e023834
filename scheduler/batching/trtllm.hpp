#pragma once
// TensorRT-LLM's in-flight batching (ENGINES.md 3.3): stage A decides which requests may hold KV
// (trtllm_capacity.hpp), stage B, here, which of them run in the step and with how many prompt
// tokens. Decodes cost one token of max_num_tokens each and run with the prompts in one step.
//
// Started requests are kept in the order in which they started, so decodes come before prompts, and
// begun prompts before waiting ones. The loop over prompts ends at the first one that gets no
// tokens. At most max_num_seqs requests are active (started or looked at) in a plan.
//
// What a prompt has computed is stored for others when the engine has processed the step of its
// last piece (KVCacheManager.update_resources: store_context_blocks): with tokens in flight that is
// behind the next plan.
//
// One plan costs O(changes): requests that decode are known as a sum. While prompts are computed it
// also looks at the waiting requests that could reuse them, max_num_seqs at most. With speculative
// decoding it looks at every row: drafts count in max_num_tokens and in blocks (ENGINES.md 5).

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/batching/batch_policy.hpp"
#include "scheduler/batching/late_prefixes.hpp"
#include "scheduler/batching/request_list.hpp"
#include "scheduler/batching/trtllm_capacity.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

// The engine's own options (TensorRT-LLM: llmapi/llm_args.py).
struct TrtllmScheduling {
  bool enable_block_reuse = true;
  bool enable_partial_reuse = true;
  bool copy_on_partial_reuse = true;
  std::string capacity_scheduler_policy = "GUARANTEED_NO_EVICT";
  std::string context_chunking_policy = "FIRST_COME_FIRST_SERVED";
  // Prompts wait for so many plans, unless they and the decodes fill this share of the step.
  std::int64_t batch_wait_timeout_iters = 0;
  double batch_wait_max_tokens_ratio = 0;
  // Data ranks (attention DP): prompts wait until every rank has one, at most for so many plans,
  // and then for more of them (AttentionDpConfig).
  bool attention_dp_enable_balance = false;
  std::int64_t attention_dp_time_out_iters = 50;
  std::int64_t attention_dp_batching_wait_iters = 10;
};

class TrtllmScheduler final : public BatchScheduler {
 public:
  // If the pool caches prefixes, a request waits while another one computes the block that it needs
  // next.
  explicit TrtllmScheduler(const SchedulerOptions& options);

  void enqueue(RequestId id, const Request& request) override;
  [[nodiscard]] bool can_run_prompts(const PlanContext& context) const override;
  void plan(const PlanContext& context, BatchPlan& plan) override;
  [[nodiscard]] bool on_leave(RequestId id) override;
  void on_engine_lost() override;

 private:
  // A started request whose prompt (after a pause with the tokens it had) is not complete.
  struct Prompt {
    RequestId id = kNoRequest;
    TokenCount found = 0;     // cached prefix with which it started
    TokenCount computed = 0;  // before this step, what was found included
    TokenCount held = 0;      // tokens that its blocks are for
    TokenCount known = 0;
    TokenCount piece = 0;  // tokens in this step
    bool starts = false;   // in this step

    [[nodiscard]] TokenCount rest() const { return known - computed - piece; }
  };

  void take_decodes(const PlanContext& context, BatchPlan& plan);
  [[nodiscard]] TokenCount take_verified(const PlanContext& context, BatchPlan& plan);
  [[nodiscard]] bool hold_slots(const PlanContext& context, BatchPlan& plan, RequestId id,
                                TokenCount slots);
  void pause_last(const PlanContext& context, BatchPlan& plan);
  [[nodiscard]] bool continue_prompts(TokenCount& left);
  [[nodiscard]] bool start_waiting(const PlanContext& context, BatchPlan& plan, TokenCount& left);
  [[nodiscard]] bool try_start(const PlanContext& context, RequestId id, TokenCount& left);
  void deal_equally(TokenCount& left);
  void run_prompts(const PlanContext& context, BatchPlan& plan);
  [[nodiscard]] bool waits_for_more(const PlanContext& context, TokenCount left, bool may_start);
  [[nodiscard]] TokenCount startable_tokens(const PlanContext& context, TokenCount left,
                                            BlockCount free, bool may_start) const;
  [[nodiscard]] TokenCount first_piece(TokenCount known, TokenCount rest, TokenCount left) const;
  [[nodiscard]] bool can_never_run(const Request& request) const;
  [[nodiscard]] bool waits_to_reuse(const PlanContext& context, const Request& request) const;
  void forget_prompt(RequestId id);

  SchedulerOptions options_;
  CapacityPolicy capacity_policy_;
  bool deals_equally_;
  std::unique_ptr<TrtllmCapacity> capacity_;
  TokenCount unit_ = 1;          // of chunks: tokens_per_block
  std::int64_t seats_left_ = 0;  // of the micro-batch that is planned
  RequestList started_;          // in order of start
  RequestList waiting_;          // paused ones at the front
  std::vector<Prompt> prompts_;  // in order of start
  LatePrefixes late_prefixes_;
  // Decode steps before the plan from which on prompts wait for more of them; -1: none waits.
  StepIndex waits_since_ = -1;
};

[[nodiscard]] const BatchPolicy& trtllm_policy();

}  // namespace headroom
