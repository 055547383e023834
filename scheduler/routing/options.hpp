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

// How long steps of a replica take, in ns: step_ns + sequence_ns * sequences + kv_token_ns * tokens
// of the pool in use; and prompts, at prompt_token_ns each.
struct LatencyModel {
  double step_ns = 10e6;  // >= 0, as the following
  double prompt_token_ns = 20e3;
  double sequence_ns = 250e3;
  double kv_token_ns = 0;
  friend constexpr bool operator==(const LatencyModel&, const LatencyModel&) = default;
};

// What a request was promised; kNever: nothing.
struct LatencyTargets {
  TimeNs ttft_ns = kNever;  // > 0
  TimeNs tpot_ns = kNever;  // > 0
  friend constexpr bool operator==(const LatencyTargets&, const LatencyTargets&) = default;
};

// Defaults are those of llm-d's latency scorer (plugins/scheduling/scorer/latency).
struct SloAwareOptions {
  bool packs = true;                    // least headroom; false: most
  double ttft_weight = 0.8;             // of the share of its promise that TTFT takes, >= 0
  double tpot_weight = 0.2;             // likewise
  std::vector<LatencyTargets> targets;  // by class of the workload; empty: nothing is promised
  std::vector<LatencyModel> models;     // of the replicas; empty: all have the default one
};

struct RouterOptions {
  std::uint64_t seed = 0;          // of the stream "routing"
  std::size_t replicas = 1;        // >= 1
  std::vector<double> weights;     // of the replicas, > 0; empty: all alike
  std::int64_t ring_points = 100;  // session_affinity: of a replica of weight 1, >= 1
  TimeNs update_delay_ns = 0;      // what was routed becomes known to the tree so much later
  PrefixAffinityOptions prefix;
  WeightedOptions weighted;
  SloAwareOptions slo;
};

// Weights as whole numbers; the largest has about 2^30, so that sums stay far below 2^63.
[[nodiscard]] std::vector<std::int64_t> whole_weights(const RouterOptions& options);

}  // namespace headroom
