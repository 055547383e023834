#pragma once
// The program's data ranks as the twins of them are compared with: one scheduler and one paged pool
// without prefix caching for each rank.

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "scheduler/batching/data_ranks.hpp"
#include "tests/oracle/oracle_types.hpp"
#include "tests/support/policy_run.hpp"

namespace headroom::oracle {

// How production goes from step to step; all give the same.
enum class Way { jumps, single_steps, random_cuts };

struct RankedProduction {
  std::size_t ranks = 1;
  std::int64_t kv_blocks = 0;  // of each rank
  std::int64_t block_tokens = 1;
  std::function<std::unique_ptr<BatchScheduler>(KvAllocator&)> make;
  DataRanks::Options options = {};
};
[[nodiscard]] test::PolicySetup ranked_setup(const RankedProduction& ranked, Way way);

[[nodiscard]] std::vector<RequestResult> results_of(test::PolicySetup setup,
                                                    const std::vector<Arrival>& arrivals);

// A request that asks for as many tokens as it gets.
[[nodiscard]] Arrival arrival_at(TimeNs time_ns, std::int32_t prompt, std::int32_t output);

}  // namespace headroom::oracle
