#pragma once
// To the replica that was sent most of the same prompt, as long as the fleet is in balance:
// SGLang's cache-aware router (sgl-model-gateway/src/policies/cache_aware.rs). Out of balance, or
// when too little of the prompt is known, where the fewest requests are.

#include "scheduler/routing/least_loaded.hpp"
#include "scheduler/routing/options.hpp"
#include "scheduler/routing/prefix_view.hpp"
#include "sim/serving/router.hpp"

namespace headroom {

class PrefixAffinityRouter final : public Router {
 public:
  explicit PrefixAffinityRouter(const RouterOptions& options);
  void on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) override;
  [[nodiscard]] std::uint32_t route(const Arrival& arrival,
                                    std::span<const ReplicaLoad> loads) override;

 private:
  [[nodiscard]] bool out_of_balance() const;

  PrefixAffinityOptions options_;
  PrefixView view_;
  LeastLoaded<std::int64_t> fewest_;  // requests
  LeastLoaded<std::int64_t> most_;    // minus requests
};

}  // namespace headroom
