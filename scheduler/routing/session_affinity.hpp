#pragma once
// All requests of a session go to one replica: consistent hashing, so that a replica that leaves
// moves its own sessions only. Requests without a session go where the fewest are.

#include <utility>
#include <vector>

#include "scheduler/routing/least_outstanding.hpp"
#include "scheduler/routing/options.hpp"
#include "sim/serving/router.hpp"

namespace headroom {

class SessionAffinityRouter final : public Router {
 public:
  explicit SessionAffinityRouter(const RouterOptions& options);
  void on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) override;
  [[nodiscard]] std::uint32_t route(const Arrival& arrival,
                                    std::span<const ReplicaLoad> loads) override;

 private:
  std::vector<std::pair<std::uint64_t, std::uint32_t>> ring_;  // hash, replica; sorted
  LeastOutstandingRouter others_;
};

}  // namespace headroom
