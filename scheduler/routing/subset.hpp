#pragma once
// Any router for some of a fleet's replicas only: those of one role or route. It sees them as if
// there were no others.

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/serving/router.hpp"

namespace headroom {

class SubsetRouter final : public Router {
 public:
  // `members` of `replicas`, in ascending order; at least one. `inner` is for as many.
  SubsetRouter(std::unique_ptr<Router> inner, std::vector<std::uint32_t> members,
               std::size_t replicas);
  void on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) override;
  [[nodiscard]] std::uint32_t route(const Arrival& arrival,
                                    std::span<const ReplicaLoad> loads) override;
  [[nodiscard]] std::uint32_t route_numbered(const Arrival& arrival, std::uint64_t index,
                                             std::span<const ReplicaLoad> loads) override;

 private:
  std::unique_ptr<Router> inner_;
  std::vector<std::uint32_t> members_;
  std::vector<std::uint32_t> places_;  // by replica; of the others, kNobody
  std::vector<ReplicaLoad> loads_;     // of the members
};

}  // namespace headroom
