#pragma once
// Each replica in turn, whatever its load.

#include "sim/serving/router.hpp"

namespace headroom {

class RoundRobinRouter final : public Router {
 public:
  [[nodiscard]] std::uint32_t route(const Arrival& arrival,
                                    std::span<const ReplicaLoad> loads) override;

 private:
  std::uint32_t next_ = 0;
};

}  // namespace headroom
