#pragma once
// Each replica in turn, whatever its load; with weights, in proportion to them and as evenly spread
// as can be. A replica that is down loses its turns.

#include <cstdint>
#include <vector>

#include "scheduler/routing/least_tree.hpp"
#include "scheduler/routing/options.hpp"
#include "sim/serving/router.hpp"

namespace headroom {

class RoundRobinRouter final : public Router {
 public:
  RoundRobinRouter() = default;  // without weights, for as many replicas as there are
  explicit RoundRobinRouter(const RouterOptions& options);
  void on_load(std::uint32_t replica, std::span<const ReplicaLoad> loads) override;
  [[nodiscard]] std::uint32_t route(const Arrival& arrival,
                                    std::span<const ReplicaLoad> loads) override;

 private:
  // Stride scheduling: each choice moves a replica's place ahead by its stride, and the one that
  // lies furthest back is next.
  struct Key {
    bool down = true;
    std::int64_t place = 0;
    friend constexpr bool operator<(const Key& a, const Key& b) {
      return a.down != b.down ? b.down : a.place < b.place;
    }
  };

  std::vector<std::int64_t> strides_;  // empty: all 1
  LeastTree<Key> tree_;
};

}  // namespace headroom
