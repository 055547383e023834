#pragma once
// How long answers are whose requests do not say it: as long as those of the scenario's own
// workload, one after the other and from the first one again.

#include <cstdint>

#include "sim/resolve/workload_factory.hpp"
#include "sim/scenario/scenario.hpp"

namespace headroom {

class OutputLengths {
 public:
  // ConfigError, DataError: as make_workload. The scenario outlives this object.
  explicit OutputLengths(const Scenario& scenario);
  [[nodiscard]] std::int32_t next();  // tokens, >= 1

 private:
  const Scenario& scenario_;
  Workload workload_;
  std::uint64_t taken_ = 0;  // since it began
};

}  // namespace headroom
