#pragma once
// Of two randomly chosen replicas, the one with fewer requests (Mitzenmacher, "The power of two
// choices in randomized load balancing", 2001). One draw decides on both.

#include "scheduler/routing/options.hpp"
#include "scheduler/routing/weight_tree.hpp"
#include "sim/kernel/random.hpp"
#include "sim/serving/router.hpp"

namespace headroom {

class PowerOfTwoRouter final : public Router {
 public:
  explicit PowerOfTwoRouter(const RouterOptions& options);
  void on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) override;
  [[nodiscard]] std::uint32_t route(const Arrival& arrival,
                                    std::span<const ReplicaLoad> loads) override;

 private:
  RandomStream stream_;
  WeightTree up_;  // 1 each
};

}  // namespace headroom
