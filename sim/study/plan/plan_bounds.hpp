#pragma once
// What can be said of a candidate before anything is simulated: whether it fits, how fast it is at
// best, and how many replicas the traffic needs at least.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/serving/step_cost.hpp"
#include "sim/study/plan/plan_candidates.hpp"
#include "sim/study/plan/plan_traffic.hpp"

namespace headroom {

// What became of a candidate. All but `met` are reasons to leave it out.
enum class PlanFate : std::uint8_t {
  met,
  quality,        // below min_quality
  not_possible,   // the engine does not run this model like that on this device
  memory,         // does not start, or no request as long as the longest fits
  latency,        // slower than a target even alone on an empty replica
  throughput,     // misses a target or loses requests even with max_replicas
  out_of_memory,  // starts, and runs out of memory under the traffic
  cost            // above max_cost_per_hour
};
[[nodiscard]] std::string_view name_of(PlanFate fate);

// Per replica, in mean steps that neither gain nor lose sequences.
struct StepBalance {
  std::int64_t rows = 1;  // decoding sequences
  double step_ms = 0;     // with them, and the prompts that replace those that end
  double requests_per_s = 0;
  std::string limited_by;  // max_num_seqs, KV pool, step tokens or TPOT
};

struct BalanceLimits {
  std::int64_t max_num_seqs = 1;
  std::int64_t max_step_tokens = 1;
  TokenCount pool_tokens = 0;
  std::optional<double> tpot_ms;
};

// The largest mean batch within the limits: B decoding sequences of the traffic's mean length, and
// as many prompt tokens a step as its ratio of input to output brings. Cost per token falls with B,
// so that no smaller batch yields more; a run, whose batches vary, yields less.
[[nodiscard]] StepBalance step_balance(const StepCost& cost, const PlanTraffic& traffic,
                                       const BalanceLimits& limits);

struct PlanBounds {
  PlanFate fate = PlanFate::met;  // as far as bounds tell
  std::string reason;
  TokenCount pool_tokens = 0;
  std::optional<double> least_ttft_ms;  // at the strictest TTFT target, with every request alone
  double least_tpot_ms = 0;             // of one sequence, alone
  StepBalance balance;
  std::int64_t least_replicas = 1;  // by the balance of steps; the search begins here
  double restart_s = 0;             // of one replica, until it serves again
  // With fate `memory`: a max_model_len with which the engine starts and serves the traffic, which
  // neither plan nor engine asks to be longer; 0: there is none.
  std::int64_t fitting_length = 0;
};

// `traffic`: all that the fleet is to serve. ConfigError only for what is wrong with the plan
// itself.
[[nodiscard]] PlanBounds plan_bounds(const FleetPlanFile& plan, const PlanCandidate& candidate,
                                     const PlanTraffic& traffic, const Catalog& catalog);

}  // namespace headroom
