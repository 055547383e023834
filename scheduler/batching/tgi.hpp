#pragma once
// TGI v3 (Text Generation Inference; its router's backend.rs and queue.rs, ENGINES.md 3.5): first
// come first served; an entry reserves prompt + max_new_tokens when it is admitted, so nothing is
// ever preempted; the first entry that does not fit stops the queue.
//
// Without chunked prefill, a batch of whole prompts runs in its own forward pass while the decodes
// pause. The router looks for such a batch before each decode step, but not twice in a row while
// something decodes: a prefill that interrupted decodes is followed by a decode step. Into a
// running batch it takes at least floor(waiting_served_ratio * running) entries or none, until
// max_waiting_tokens tokens have come since the last prefill (the prefill's own is the first); then
// any number. The budget of a batch is max_batch_prefill_tokens, rounded up to whole blocks. A
// prompt that is longer is refused when it is the first to wait: no batch could ever hold it (TGI's
// validation answers 422).
//
// With chunked prefill, new prompts, the rest of a prompt that was cut, and all decodes run in one
// forward: decodes never wait. The prompt that was cut goes on first; what it and the decodes leave
// of max_batch_prefill_tokens is the budget of new entries, the last of which is cut to it. There
// is no least number of entries. The router hands new entries over in a call of its own and lets
// one step pass before it looks at the queue again: into a running batch every second step at most.
//
// With prefix caching an entry holds what it finds with others, and only what is left to compute
// counts in the budget (postfix_len).
//
// Limits: the pool stands for max_batch_total_tokens. Rows whose last token is in flight still
// count as running. When the least number is weighed nothing is allocated to find out: a prefix
// that others hold counts as if each entry needed it for itself.

#include <cstdint>

#include "scheduler/batching/batch_policy.hpp"
#include "scheduler/batching/request_list.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

// The engine's own options (TGI: launcher/src/main.rs).
struct TgiScheduling {
  std::int64_t max_batch_prefill_tokens = 4096;  // >= 1
  double waiting_served_ratio = 0.3;             // >= 0
  std::int64_t max_waiting_tokens = 20;          // decode steps, >= 0
};

class TgiScheduler final : public BatchScheduler {
 public:
  explicit TgiScheduler(const SchedulerOptions& options)
      : options_(options), own_(options.own.get<TgiScheduling>()) {}

  void enqueue(RequestId id, const Request& request) override;
  void plan(const PlanContext& context, BatchPlan& plan) override;
  [[nodiscard]] bool on_leave(RequestId id) override;
  void on_engine_lost() override;

 private:
  // Whether a batch of so many entries can be formed now; if not, what stands against it.
  enum class Weighed : std::uint8_t { enough, too_few_wait, no_room };

  void plan_mixed(const PlanContext& context, BatchPlan& plan);
  void plan_apart(const PlanContext& context, BatchPlan& plan);
  void continue_prefill(const PlanContext& context, BatchPlan& plan, TokenCount& budget);
  void admit(const PlanContext& context, BatchPlan& plan, TokenCount budget);
  [[nodiscard]] Weighed weigh(const PlanContext& context, std::int64_t least,
                              TokenCount budget) const;
  [[nodiscard]] std::int64_t least_entries() const;
  [[nodiscard]] bool must_decode(const PlanContext& context) const;

  SchedulerOptions options_;
  TgiScheduling own_;
  RequestList waiting_;
  std::int64_t running_ = 0;           // admitted and not gone
  RequestId prefilling_ = kNoRequest;  // the one whose prompt was cut
  // Decode steps planned up to and with the latest admission, and whether it joined others.
  StepIndex latest_prefill_ = 0;
  bool joined_others_ = false;
};

[[nodiscard]] const BatchPolicy& tgi_policy();

}  // namespace headroom
