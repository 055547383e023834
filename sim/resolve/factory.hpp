#pragma once
// The parts of a replica from a resolved scenario.

#include "hardware/cost/roofline.hpp"
#include "sim/resolve/run.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

// `kv`: the allocator of the same replica, which llama.cpp's scheduler looks at.
[[nodiscard]] std::unique_ptr<BatchScheduler> make_scheduler(const Resolved& resolved,
                                                             const KvAllocator& kv,
                                                             const KvLayout& layout);
[[nodiscard]] std::unique_ptr<KvAllocator> make_allocator(const Resolved& resolved,
                                                          const MemoryBudget& budget);
// What a price of the system's steps depends on beside model, device and constants.
[[nodiscard]] RooflineOptions roofline_options(const Resolved& resolved, TokenCount pool_tokens);

// Says in `facts` which constants price the steps.
[[nodiscard]] std::unique_ptr<StepCost> make_cost(const Resolved& resolved, const Catalog& catalog,
                                                  TokenCount pool_tokens, CostFacts& facts);

// The price of a replica's steps, its drafter's included.
[[nodiscard]] std::unique_ptr<StepCost> make_replica_cost(const Resolved& resolved,
                                                          const MemoryBudget& budget,
                                                          const Catalog& catalog, CostFacts& facts);
// With a price that has been made before; `facts` are those of that one.
[[nodiscard]] ReplicaParts make_replica(const Resolved& resolved, const MemoryBudget& budget,
                                        std::unique_ptr<StepCost> cost, CostFacts& facts);
[[nodiscard]] ReplicaParts make_replica(const Resolved& resolved, const MemoryBudget& budget,
                                        const Catalog& catalog, CostFacts& facts);

}  // namespace headroom
