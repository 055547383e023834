#pragma once
// The second tier of a run's KV: what the engine's options request, which memory its bytes use and
// over which links they move (docs/semantics.md, "A second tier").

#include <optional>

#include "hardware/budget/budget.hpp"
#include "scheduler/kv/offload_tier.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/serving/link.hpp"

namespace headroom {

// Whether preempted requests are swapped out (vLLM V0); else a tier keeps what a prefix cache
// loses.
[[nodiscard]] bool swaps(const Resolved& resolved);

// Host memory for offloaded or swapped blocks, of all ranks together; 0: no second tier.
[[nodiscard]] ByteCount host_tier_bytes(const Resolved& resolved);

// ConfigError: options that do not go together, or a device whose path to the host is not known.
void check_kv_tier(const Resolved& resolved);

// Between the device and host memory, per direction and rank; empty: not known.
[[nodiscard]] std::optional<double> host_copy_bytes_per_s(const Resolved& resolved);

// The environment of the start: where host and device share one memory the tier and adapters in
// host memory are taken out of it.
[[nodiscard]] Environment environment_with_tier(const Resolved& resolved);

// Bytes of one block of a run's allocator, on one rank.
[[nodiscard]] ByteCount run_block_bytes(const KvLayout& layout);

// In blocks. The second tier of a prefix cache, or swap space.
[[nodiscard]] OffloadTierOptions tier_options(const Resolved& resolved, const KvLayout& layout);
[[nodiscard]] TierLinks tier_links(const Resolved& resolved, const KvLayout& layout);

}  // namespace headroom
