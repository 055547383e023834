#pragma once
// Options of all routers. One place per field: default, unit, range.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/kernel/time.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

// Cache-aware routing. Defaults are those of SGLang's router
// (sgl-model-gateway, policies/mod.rs: CacheAwareConfig).
struct PrefixAffinityOptions {
  double cache_threshold = 0.5;        // share of the prompt that must match, [0, 1]
  std::int64_t balance_abs = 32;       // out of balance: max - min > this, and
  double balance_rel = 1.1;            //   max > this * min (requests running and waiting)
  TokenCount tree_tokens = 1'000'000;  // remembered of each replica; the least recent go first
};

// cost = prefix_weight * (tokens that wait + prompt tokens that it does not have)
//      + kv_weight * KV tokens + request_weight * requests. The least is taken.
// NVIDIA Dynamo's KV router: overlap_score_weight * prefill blocks + decode blocks, weight 1.
struct WeightedOptions {
  double prefix_weight = 1;   // >= 0
  double kv_weight = 1;       // >= 0
  double request_weight = 0;  // >= 0; tokens that a request counts for
};

struct RouterOptions {
  std::uint64_t seed = 0;          // of the stream "routing"
  std::size_t replicas = 1;        // >= 1
  std::vector<double> weights;     // of the replicas, > 0; empty: all alike
  std::int64_t ring_points = 100;  // session_affinity: of a replica of weight 1, >= 1
  TimeNs update_delay_ns = 0;      // what was routed becomes known to the tree so much later
  PrefixAffinityOptions prefix;
  WeightedOptions weighted;
};

// Weights as whole numbers; the largest has about 2^30, so that sums stay far below 2^63.
[[nodiscard]] std::vector<std::int64_t> whole_weights(const RouterOptions& options);

}  // namespace headroom
