#pragma once
// A replica by chance, in proportion to the weights. Memoryless: what C15 calls 4 x M/M/1.

#include <vector>

#include "scheduler/routing/options.hpp"
#include "scheduler/routing/weight_tree.hpp"
#include "sim/kernel/random.hpp"
#include "sim/serving/router.hpp"

namespace headroom {

class RandomRouter final : public Router {
 public:
  explicit RandomRouter(const RouterOptions& options);
  void on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) override;
  [[nodiscard]] std::uint32_t route(const Arrival& arrival,
                                    std::span<const ReplicaLoad> loads) override;

 private:
  RandomStream stream_;
  std::vector<std::int64_t> weights_;
  WeightTree all_;
  WeightTree up_;
};

}  // namespace headroom
