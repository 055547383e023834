#pragma once
// Figures of a fleet that its JSON and its text share. Only for results with groups; `first` is the
// number of the first replica of a group.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/resolve/run.hpp"

namespace headroom {

// Sums over replicas; shares are of their whole time, or of their whole pools.
struct ReplicaUse {
  ReplicaCounts counts;
  double busy_ticks = 0;
  double all_ticks = 0;
  double used_blocks = 0;
  double all_blocks = 0;
  double peak = 0;
  std::int64_t ooms = 0;

  void add(const RunResult& result, std::uint16_t number);

  [[nodiscard]] double busy_share() const { return all_ticks > 0 ? busy_ticks / all_ticks : 0; }
  [[nodiscard]] double mean_kv() const { return all_blocks > 0 ? used_blocks / all_blocks : 0; }
};

[[nodiscard]] double fleet_seconds(TimeNs time_ns);
// Of all replicas of the group together.
[[nodiscard]] TimeNs replica_ns(const RunResult& result, const FleetGroup& group,
                                std::size_t first);
[[nodiscard]] double mean_replicas(const RunResult& result, const FleetGroup& group,
                                   std::size_t first);
[[nodiscard]] double idle_node_seconds(const RunResult& result, std::size_t index);
// Everything that is paid for, on average over the run; nothing if a group has no price.
[[nodiscard]] std::optional<double> dollars_per_hour(const RunResult& result);
[[nodiscard]] double hours(const RunResult& result);

// Answers that a cascade judged and did not keep.
struct CascadeWaste {
  std::int64_t answers = 0;
  TokenCount input_tokens = 0;
  TokenCount output_tokens = 0;
  TokenCount kept_tokens = 0;
};
[[nodiscard]] CascadeWaste waste_of(const RunResult& result);

// Share of the run in which the ports of the replicas with this role were busy, on average.
[[nodiscard]] double port_share(const RunResult& result, ReplicaRole role);
// 0 if `count` is.
[[nodiscard]] double mean_ms(Int128 sum_ns, std::int64_t count);

}  // namespace headroom
