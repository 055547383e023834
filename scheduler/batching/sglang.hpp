#pragma once
// SGLang (ENGINES.md 3.4): prefill first. While requests wait and the batch is not known to be
// full, the scheduler tries a prefill batch. It runs alone while the decodes pause (together with
// them with enable_mixed_chunk); otherwise all running requests decode. Admission sets aside an
// estimate of the output still to come, which may prove too small: then decodes retract running
// requests, which lose their KV and recompute prompt and generated tokens later.
//
// A page is a block of the pool, and chunked_prefill_size a multiple of it (SGLang demands that);
// free blocks count what the prefix cache could evict. Requests are taken to ask for no more output
// than the pool could hold with their prompt (SGLang clips max_new_tokens so). A prompt with its
// generated tokens that is longer than that is rejected when its turn comes; so is the last running
// request once it has outgrown the pool: the plan that finds no room retracts it, a later one
// rejects it.
//
// What a prompt has computed is found by others once its step has ended and the engine has looked
// at it (process_batch_result_prefill): in the plan behind the next one with tokens in flight.
// Pieces of a prompt that is not complete: in the next plan (get_next_batch_to_run).
//
// A finished request keeps its seat in the batch, and the batch its full flag, until a plan drops
// those that are finished (filter_batch): one of decodes, or the next one behind the prefill batch
// that the request was part of. With rules.skips_last_step a plan of decodes also drops those whose
// last token is in flight (state `ending`).
//
// With data ranks (--enable-dp-attention) the other ranks decode while one computes prompts. Here
// its own decodes do, too (docs/semantics.md 28).
//
// A plan of decodes only costs O(1), one that tries to admit or has drafts O(running requests) at
// most, and a retraction O(n log n) of them (with drafts O(n^2)).

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/batching/batch_policy.hpp"
#include "scheduler/batching/late_prefixes.hpp"
#include "scheduler/batching/request_list.hpp"
#include "scheduler/batching/sglang_drafts.hpp"
#include "scheduler/batching/sglang_order.hpp"
#include "scheduler/batching/sglang_retraction.hpp"
#include "scheduler/batching/sglang_rules.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

// The engine's own options (SGLang: server_args.py).
struct SglangScheduling {
  std::int64_t max_prefill_tokens = 16384;   // prompt tokens of one prefill batch, >= 1
  std::int64_t chunked_prefill_size = 8192;  // tokens; 0 or less = prompts are never cut
  bool enable_mixed_chunk = false;           // decodes run beside prefill chunks
  double schedule_conservativeness = 1.0;    // > 0
  std::string schedule_policy = "fcfs";      // order of the queue
  bool disable_radix_cache = false;
  // Steps of decodes between two looks at new requests; 1: before every plan.
  std::int64_t scheduler_recv_interval = 1;
  // Of data ranks: which one gets a request.
  std::string load_balance_method = "round_robin";
  // Factor on schedule_conservativeness: 0.3 with data ranks, set by the engine.
  double conservativeness_factor = 1.0;
  // Free tokens that a retraction leaves for each remaining request, beyond its next step: 20
  // before 0.5 (pull request 9989), set by the engine.
  std::int64_t retraction_headroom = 0;
  // A retraction takes the latest admissions, not the shortest outputs: with drafts before 0.5.17,
  // set by the engine.
  bool retracts_latest = false;
  SglangRules rules = {};  // by release, set by the engine
};

class SglangScheduler final : public BatchScheduler {
 public:
  explicit SglangScheduler(const SchedulerOptions& options);

  void enqueue(RequestId id, const Request& request) override;
  void plan(const PlanContext& context, BatchPlan& plan) override;
  [[nodiscard]] bool on_leave(RequestId id) override;
  void on_engine_lost() override;

 private:
  // What a prefill batch may still take (SGLang's PrefillAdder).
  struct Budget {
    TokenCount input = 0;    // rem_input
    TokenCount chunk = 0;    // rem_chunk
    std::int64_t seats = 0;  // requests
    double set_aside = 0;    // of the free tokens, for output still to come
  };
  enum class Added : std::uint8_t { taken, no_token, other };

  void read_arrivals(const PlanContext& context);
  [[nodiscard]] StepCount steps_to_read(const PlanContext& context) const;
  void plan_beside(const PlanContext& context, BatchPlan& plan, bool mixed);
  void filter_last_batch();
  void filter_running();
  [[nodiscard]] bool drop_ending(const PlanContext& context);
  void note_plan(const PlanContext& context);
  void forget_finished();
  void put_first(RequestId last);
  [[nodiscard]] std::int64_t seats_taken() const { return running_.size() + finished_; }
  [[nodiscard]] bool may_prefill() const;
  [[nodiscard]] Budget budget_for(std::int64_t decodes_beside) const;
  void build_prefill_batch(const PlanContext& context, BatchPlan& plan, Budget budget);
  void continue_chunked(const PlanContext& context, BatchPlan& plan, Budget& budget);
  void admit_waiting(const PlanContext& context, BatchPlan& plan, Budget& budget);
  [[nodiscard]] Added add_waiting(const PlanContext& context, BatchPlan& plan, RequestId id,
                                  Budget& budget);
  [[nodiscard]] TokenCount next_piece(const Request& request, const KvPoolState& pool,
                                      const Budget& budget) const;
  [[nodiscard]] TokenCount wanted_tokens(const Request& request, TokenCount cached,
                                         const KvPoolState& pool, bool alone) const;
  void note_added(const Request& request, const Chunk& chunk, const KvPoolState& pool,
                  Budget& budget) const;
  void note_computed(RequestId id, TokenCount tokens, bool completes);
  void decode(const PlanContext& context, BatchPlan& plan);
  [[nodiscard]] Budget mixed_budget(TokenCount taken) const;
  void finish_decode_plan(const PlanContext& context, BatchPlan& plan);
  void note_idle(const PlanContext& context);
  void retract(const PlanContext& context, BatchPlan& plan);
  [[nodiscard]] BlockCount blocks_for_decodes(const PlanContext& context) const;
  void take_decodes(const PlanContext& context, BatchPlan& plan);
  void find_candidates(const PlanContext& context);

  // Prompt and output that a request alone in the pool is admitted with.
  [[nodiscard]] TokenCount room(const KvPoolState& pool) const;
  [[nodiscard]] TokenCount max_output(const Request& request, const KvPoolState& pool) const;
  // Estimate of the tokens that a request with `generated` will still need.
  [[nodiscard]] TokenCount output_to_come(const Request& request, TokenCount generated,
                                          const KvPoolState& pool) const;
  [[nodiscard]] std::int32_t read_output(const PlanContext& context, RequestId id) const;
  [[nodiscard]] double output_for_running(const PlanContext& context);
  void join_running(const PlanContext& context, RequestId id);

  SchedulerOptions options_;
  SglangScheduling own_;
  SglangQueue waiting_;
  // Requests that the engine has not read yet (scheduler_recv_skipper.py), in order, and the number
  // of decode steps before the plan in which it last looked.
  RequestList unread_;
  StepIndex last_read_ = 0;
  // Prompt complete; in the order of the engine's batch, which may have dropped ending ones.
  RequestList running_;
  // Before this decode step each of them has more output to come than the estimate counts. Kept
  // for speed alone; as of the last look at all of them, lowered by those that have joined.
  StepIndex all_capped_until_ = 0;
  std::int64_t finished_ = 0;              // that are still in the batch of running requests
  TokenCount finished_output_ = 0;         // that the estimate expects of them all the same
  std::vector<Request> left_;              // since the last plan, as they were
  const RequestPool* requests_ = nullptr;  // of the last plan
  // The latest plan, if it ran a prefill batch: whose prompts it completed, and whether all running
  // requests were part of it; and whether any of them has finished since.
  std::vector<RequestId> last_completed_;
  std::vector<RequestId> before_completed_;  // while a plan is made: by the one before
  bool last_was_prefill_ = false;
  bool last_was_mixed_ = false;
  bool last_shrank_ = false;
  LatePrefixes late_prefixes_;
  RequestId chunked_ = kNoRequest;  // the one whose prompt is computed in part
  // No request is admitted before a running one leaves. SGLang keeps it in its batch of running
  // requests, and so forgets it when the next prefill batch takes the place of that one: when none
  // ran before, or when the running ones were mixed into it.
  bool batch_is_full_ = false;
  bool idle_ = true;
  bool stood_by_ = false;         // the last plan ran nothing
  StepIndex planned_before_ = 0;  // decode steps before the last plan
  NewTokenRatio ratio_;
  SglangDrafts drafts_;
  std::vector<RetractionCandidate> candidates_;
};

[[nodiscard]] const BatchPolicy& sglang_policy();

}  // namespace headroom
