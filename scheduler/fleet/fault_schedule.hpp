#pragma once
// Faults by schedule, and crashes by chance: each replica's time up is exponential, from a stream
// of its own.

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "sim/kernel/random.hpp"
#include "sim/serving/fault_source.hpp"

namespace headroom {

struct FaultOptions {
  std::vector<Fault> scheduled;  // in any order
  double mtbf_s = 0;             // mean time from a replica's start to its crash; 0: none by chance
  std::vector<TimeNs> down_ns;   // by replica, after a crash by chance
  std::uint64_t seed = 0;
};

class FaultSchedule final : public FaultSource {
 public:
  explicit FaultSchedule(const FaultOptions& options);
  [[nodiscard]] TimeNs next_time() override;
  [[nodiscard]] Fault take() override;

 private:
  struct Entry {
    Fault fault;
    bool by_chance = false;
  };
  // At one instant by replica; a slow time ends before another one begins.
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const;
  };
  void schedule_chance(std::uint32_t replica, TimeNs from_ns);

  double mean_ns_;
  std::vector<TimeNs> down_ns_;
  std::vector<RandomStream> streams_;  // by replica
  std::priority_queue<Entry, std::vector<Entry>, Later> pending_;
};

}  // namespace headroom
