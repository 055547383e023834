#pragma once
// The replica with the fewest requests, running and waiting together.
// Equals in turn.

#include "scheduler/routing/least_loaded.hpp"
#include "sim/serving/router.hpp"

namespace headroom {

class LeastOutstandingRouter final : public Router {
 public:
  void on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) override;
  [[nodiscard]] std::uint32_t route(const Arrival& arrival,
                                    std::span<const ReplicaLoad> loads) override;

 private:
  LeastLoaded<std::int64_t> replicas_;
};

}  // namespace headroom
