#pragma once
// The replica where the request costs least: tokens that have to be computed before it has its
// first one, and KV and requests that it shares the steps with (WeightedOptions). The form of
// NVIDIA Dynamo's KV router; llm-d's weighted scorers use the same three terms.

#include "scheduler/routing/least_loaded.hpp"
#include "scheduler/routing/options.hpp"
#include "scheduler/routing/prefix_view.hpp"
#include "sim/serving/router.hpp"

namespace headroom {

class WeightedRouter final : public Router {
 public:
  explicit WeightedRouter(const RouterOptions& options);
  void on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) override;
  [[nodiscard]] std::uint32_t route(const Arrival& arrival,
                                    std::span<const ReplicaLoad> loads) override;

 private:
  WeightedOptions options_;
  PrefixView view_;
  LeastLoaded<double> loads_;  // the cost without the prompt's own tokens
};

}  // namespace headroom
