#pragma once
// The replica with the fewest tokens: prompts of all its requests, and what they have generated.
// Equals in turn.

#include "scheduler/routing/least_loaded.hpp"
#include "sim/serving/router.hpp"

namespace headroom {

class JoinShortestTokensRouter final : public Router {
 public:
  void on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) override;
  [[nodiscard]] std::uint32_t route(const Arrival& arrival,
                                    std::span<const ReplicaLoad> loads) override;

 private:
  LeastLoaded<TokenCount> replicas_;
};

}  // namespace headroom
