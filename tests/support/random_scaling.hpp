#pragma once
// For laws of fleets whose size changes for no reason.

#include <algorithm>
#include <cstdint>

#include "sim/kernel/random.hpp"
#include "sim/serving/scaling_policy.hpp"
#include "tests/oracle/oracle_types.hpp"

namespace headroom::test {

// Any number of replicas from 1 to `most` at any time.
class RandomScaling final : public ScalingPolicy {
 public:
  RandomScaling(std::uint64_t most, std::uint64_t seed) : most_(most), stream_(seed, "scaling") {}
  std::int64_t desired(const ScalingView& /*view*/) override {
    return 1 + static_cast<std::int64_t>(stream_.bits() % most_);
  }

 private:
  std::uint64_t most_;
  RandomStream stream_;
};

// How long a scenario's arrivals last, at least 100 ns.
inline TimeNs arrivals_ns(const oracle::Scenario& s) {
  return s.arrivals.empty() ? 100 : std::max<TimeNs>(100, s.arrivals.back().time_ns);
}

}  // namespace headroom::test
