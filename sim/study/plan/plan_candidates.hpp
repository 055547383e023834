#pragma once
// What a fleet may be made of: every model on every instance with every engine, environment and
// split that the instance has devices for.

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/study/plan/plan_file.hpp"

namespace headroom {

// Replicas of one kind; the numbers are places in the plan's lists.
struct PlanCandidate {
  std::size_t model = 0;
  std::size_t instance = 0;
  std::size_t engine = 0;
  std::size_t environment = 0;
  std::int64_t tensor_parallel = 1;
  // Where the model's own length does not fit into the KV pool and the traffic needs less of it; 0:
  // the engine's default.
  std::int64_t max_model_len = 0;
};

// Models outermost, splits innermost. ConfigError: a name that the catalog does not have, or no
// split that an instance has devices for.
[[nodiscard]] std::vector<PlanCandidate> plan_candidates(const FleetPlanFile& plan,
                                                         const Catalog& catalog);
// "llama-3.1-8b on 2 x l4 (8xL4), vllm 0.19".
[[nodiscard]] std::string candidate_name(const FleetPlanFile& plan, const PlanCandidate& candidate);

// Replicas that an instance holds.
[[nodiscard]] std::int64_t replicas_per_instance(const FleetPlanFile& plan,
                                                 const PlanCandidate& candidate);
[[nodiscard]] std::int64_t instances_for(const FleetPlanFile& plan, const PlanCandidate& candidate,
                                         std::int64_t replicas);
// Replicas on as many instances as max_cost_per_hour allows; it must be given.
[[nodiscard]] std::int64_t affordable_replicas(const FleetPlanFile& plan,
                                               const PlanCandidate& candidate);
// $ per hour of so many replicas: whole instances are paid for.
[[nodiscard]] double cost_per_hour(const FleetPlanFile& plan, const PlanCandidate& candidate,
                                   std::int64_t replicas);

// One simulation of a candidate.
struct PlanCase {
  double scale = 1;  // of the base traffic's rate
  std::int64_t replicas = 1;
  std::int64_t replication = 0;  // seed, and shifts of a trace's copies
  double span_s = 0;             // of the base traffic
  double slower = 0;             // steps take 1 + slower times as long as the model says
};

// A scenario that `headroom run` accepts unchanged.
[[nodiscard]] Json case_json(const FleetPlanFile& plan, const PlanCandidate& candidate,
                             const PlanCase& one);
// ConfigError: a section of the plan is wrong.
[[nodiscard]] Scenario case_scenario(const FleetPlanFile& plan, const PlanCandidate& candidate,
                                     const PlanCase& one);

}  // namespace headroom
