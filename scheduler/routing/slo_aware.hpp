#pragma once
// The replica that is predicted to keep the request's promises with the least headroom left (packs)
// or the most (spreads): llm-d's predicted-latency scheduling (docs/semantics.md 31), with an
// affine latency model in place of its regression.

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/routing/least_loaded.hpp"
#include "scheduler/routing/options.hpp"
#include "scheduler/routing/ranked_replicas.hpp"
#include "sim/serving/router.hpp"

namespace headroom {

class SloAwareRouter final : public Router {
 public:
  explicit SloAwareRouter(const RouterOptions& options);
  void on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) override;
  [[nodiscard]] std::uint32_t route(const Arrival& arrival,
                                    std::span<const ReplicaLoad> loads) override;

 private:
  // Predicted for a request that comes now, without its own prompt.
  struct Prediction {
    TimeNs ttft_ns = 0;
    TimeNs tpot_ns = 0;
  };
  // Replicas of one latency model under one promise, ordered by predicted TTFT. Their scores are
  // the weighted shares of the promises that predictions take; the request's own prompt adds the
  // same to all of them.
  struct Tier {
    std::uint32_t model = 0;
    RankedReplicas keep_tpot;
    RankedReplicas break_tpot;
  };
  struct Promise {
    LatencyTargets targets;  // kNever: none
    double ttft_weight = 0;  // of a ns, in units of a score
    double tpot_weight = 0;
    std::vector<Tier> tiers;
  };
  struct Choice {
    std::uint32_t replica = 0;
    std::int64_t score = 0;
    std::uint64_t turn = 0;
  };
  // What a choice is made among, the best first.
  enum class Kept : std::uint8_t { both, only_ttft, only_tpot, none };

  // What has been routed since the router looked last at how much it is.
  struct Window {
    TimeNs since_ns = 0;
    TokenCount prompt_tokens = 0;
    std::int64_t running = 0;  // of the fleet, summed over the decisions
    std::int64_t decisions = 0;
  };

  void learn(const Arrival& arrival, std::span<const ReplicaLoad> loads);
  void add_promise(const LatencyTargets& targets, const RouterOptions& options);
  void place(Promise& promise, std::uint32_t replica, bool is_up);
  [[nodiscard]] Prediction predicted(std::uint32_t replica, const ReplicaLoad& load) const;
  [[nodiscard]] std::optional<Choice> best(const Promise& promise, Kept kept,
                                           TokenCount prompt_tokens) const;

  SloAwareOptions options_;
  std::vector<LatencyModel> models_;      // that differ
  std::vector<std::uint32_t> model_of_;   // by replica
  std::vector<Prediction> predictions_;   // by replica
  std::vector<std::int64_t> running_of_;  // by replica
  std::int64_t running_ = 0;
  Window window_;
  double prompt_tokens_per_ns_ = 0;  // that come for each running sequence; 0: not known yet
  std::vector<Promise> promises_;    // that differ
  std::vector<std::uint32_t> promise_of_class_;  // at least one
  std::vector<std::uint64_t> turns_;             // by replica: when it was chosen last
  std::uint64_t turn_ = 0;
  LeastLoaded<std::int64_t> anybody_;  // for when no replica is up
};

}  // namespace headroom
