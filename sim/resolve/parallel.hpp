#pragma once
// Engines on several devices whose parts work on parts of a step: pipeline stages on a micro-batch
// each, data ranks on a batch each. They are one replica.

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/cost/interconnect.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/resolve/startup_budget.hpp"

namespace headroom {

// What goes into one step; budgets in a scenario are of a micro-batch (pipeline stages) or a rank
// (data ranks).
struct StepLimits {
  std::int32_t max_num_seqs = 0;
  std::int32_t max_num_batched_tokens = 0;
};
// Options of the ways between devices that measured kernels have no answer to.
inline constexpr const char* kLinkOptions[] = {"/device/nic_gb_per_s", "/device/nic_latency_us",
                                               "/engine/all2all_backend",
                                               "/cost/expert_load_factor"};
// Whether one of them is given, or the devices are on several nodes.
[[nodiscard]] bool asks_for_links(const Scenario& scenario, const Sharding& sharding);

[[nodiscard]] StepLimits rank_limits(const Resolved& resolved);  // all stages of a data rank
[[nodiscard]] StepLimits step_limits(const Resolved& resolved);  // all parts of the engine

// Tokens in the KV pools of all data ranks.
[[nodiscard]] TokenCount engine_pool_tokens(const Resolved& resolved, const MemoryBudget& budget);

[[nodiscard]] ParallelOptions parallel_options(const Resolved& resolved);

// ConfigError: a split that a run cannot simulate, or a setting of one that has no effect.
void check_parallel(const Resolved& resolved);
// What a run takes as something simpler; warnings of every result.
[[nodiscard]] std::vector<std::string> parallel_warnings(const Resolved& resolved);

}  // namespace headroom
