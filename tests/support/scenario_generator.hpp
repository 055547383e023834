#pragma once
// Small scenarios for comparing production with the naive engine: random ones from a seed, and
// every tiny one. The same seed gives the same scenario with every compiler.

#include <cstdint>
#include <functional>

#include "tests/oracle/oracle_types.hpp"

namespace headroom::oracle {

// 2-40 requests with bursts, ties and idle gaps; pools small enough to preempt; budgets small
// enough to chunk. One in 25 vLLM scenarios has a pool smaller than its longest sequence, so that
// a request may get stuck and stay unfinished (the run still ends by itself). Static batches use
// contiguous memory only.
[[nodiscard]] Scenario random_scenario(std::uint64_t seed);

// The same under one policy: every one has a naive twin.
[[nodiscard]] Scenario random_scenario(Policy policy, std::uint64_t seed);

// The same with prompts that begin alike and with conversations: about half of the arrivals say
// what their prompt begins with, some of them an earlier prompt and its answer. For paged memory.
[[nodiscard]] Scenario with_prefixes(Scenario scenario, std::uint64_t seed);

// The same with LoRA adapters, few enough that requests wait for one another's. vllm, fcfs.
[[nodiscard]] Scenario with_adapters(Scenario scenario, std::uint64_t seed);

// The same with 2 to 5 pipeline stages. vllm, trtllm and orca, without adapters.
[[nodiscard]] Scenario with_stages(Scenario scenario, std::uint64_t seed);

// The same with clients that give up: about half of the requests have a deadline.
[[nodiscard]] Scenario with_deadlines(Scenario scenario, std::uint64_t seed);

// The same behind an API server of 1 to 3 processes, some of them slower than the engine. Not for
// static batches.
[[nodiscard]] Scenario with_api_server(Scenario scenario, std::uint64_t seed);

// All cases of 1-4 requests of 3 lengths in 3 memory sizes, at once and staggered, under every
// scheduler, depth and memory: about 7,000.
void for_each_tiny_scenario(const std::function<void(const Scenario&)>& visit);

// Whether the specification has rules for it and the run ends by itself: what the generator makes
// and the shrinker keeps.
[[nodiscard]] bool is_legal(const Scenario& scenario);

}  // namespace headroom::oracle
