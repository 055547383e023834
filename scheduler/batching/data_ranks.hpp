#pragma once
// Data ranks of one engine as one scheduler: each request stays on the rank that a balancer chose,
// which has its own scheduler, with a queue, seats and a token budget, and its own pool. Their
// plans are one: all ranks step together (docs/semantics.md 28).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "scheduler/batching/rank_balancer.hpp"
#include "scheduler/batching/rank_rules.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/rank_pools.hpp"

namespace headroom {

class DataRanks final : public BatchScheduler {
 public:
  struct Options {
    RankRules rules = {};
    std::size_t front_ends = 1;  // that the balancer has; >= 1
    std::int64_t seats = 1;      // sequences of one rank
    std::uint64_t seed = 0;
  };
  // One scheduler for each pool, in whose plans decodes never pause (PlanContext::decodes_go_on),
  // or do so for the prompts of any (RankRules::prompts_pause_all).
  DataRanks(std::vector<std::unique_ptr<BatchScheduler>> ranks, RankPools& pools,
            const Options& options);

  [[nodiscard]] std::uint16_t choose_rank(TimeNs now_ns) override;
  void enqueue(RequestId id, const Request& request) override;
  void enqueue_arrived(RequestId id, const Request& request) override;
  void plan(const PlanContext& context, BatchPlan& plan) override;
  [[nodiscard]] bool on_leave(RequestId id) override;
  void on_engine_lost() override;

 private:
  struct Rank {
    std::unique_ptr<BatchScheduler> scheduler;
    RankQueue queue;         // requests in it
    TokenCount prompts = 0;  // tokens of theirs
    std::int64_t seen = 0;   // of those that wait, the ones that a plan has looked at
  };
  // Of a request.
  struct Place {
    std::size_t rank = 0;
    TokenCount prompt = 0;
    bool runs = false;
    std::uint64_t first_plan = 0;  // that can look at it
  };

  void join(RequestId id, const Request& request);
  void tell_balancer(TimeNs now_ns);
  void plan_ranks(const PlanContext& context, PlanPart part, BatchPlan& plan);
  void take_over(const PlanContext& context, Rank& rank, BatchPlan& plan);
  [[nodiscard]] std::size_t least_held() const;
  [[nodiscard]] std::size_t with_fewest_requests() const;
  [[nodiscard]] std::size_t with_fewest_tokens() const;
  [[nodiscard]] PlanContext context_of(std::size_t rank, const PlanContext& whole) const;
  [[nodiscard]] bool holds_prompts_back(const PlanContext& context);

  std::vector<Rank> ranks_;
  RankPools& pools_;
  Options options_;
  RankBalancer balancer_;
  PromptAgreement agreement_;
  std::size_t next_in_turn_ = 0;
  std::vector<Place> places_;        // by RequestId
  std::uint64_t plans_ = 0;          // plan()
  BatchPlan part_;                   // one rank's, of the latest plan
  std::vector<RankQueue> reported_;  // tell_balancer()
};

}  // namespace headroom
