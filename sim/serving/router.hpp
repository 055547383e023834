#pragma once
// Port: which replica gets a request. Looks, never changes a replica.

#include <cstdint>
#include <span>

#include "sim/serving/request.hpp"

namespace headroom {

struct ReplicaLoad {
  std::int64_t running = 0;
  std::int64_t waiting = 0;
};

class Router {
 public:
  virtual ~Router() = default;
  // Index into `loads`, which has one entry per replica.
  [[nodiscard]] virtual std::uint32_t route(const Arrival& arrival,
                                            std::span<const ReplicaLoad> loads) = 0;
};

}  // namespace headroom
