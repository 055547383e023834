#include "sim/resolve/fleet_factory.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "scheduler/fleet/admission.hpp"
#include "scheduler/fleet/fault_schedule.hpp"
#include "scheduler/routing/routers.hpp"
#include "sim/kernel/seconds.hpp"
#include "sim/resolve/factory.hpp"
#include "sim/resolve/fleet_cascade.hpp"
#include "sim/resolve/fleet_disaggregation.hpp"
#include "sim/resolve/fleet_lifecycle_factory.hpp"
#include "sim/resolve/fleet_routes.hpp"
#include "sim/resolve/latency_model.hpp"

namespace headroom {
namespace {

// A promise of centuries is none.
TimeNs promise_ns(double ms) {
  constexpr double kLongestMs = 9e12;
  return ms < kLongestMs ? ns_from_seconds(ms / 1e3) : kNever;
}

// Replicas that are alike price their steps by the same tables.
class SharedCost final : public StepCost {
 public:
  explicit SharedCost(std::shared_ptr<const StepCost> cost) : cost_(std::move(cost)) {}
  void price(const StepShape& shape, StepPrice& price) const override {
    cost_->price(shape, price);
  }
  [[nodiscard]] bool split(const StepShape& shape, const StepPrice& price,
                           StageTimes& times) const override {
    return cost_->split(shape, price, times);
  }

 private:
  std::shared_ptr<const StepCost> cost_;
};

// A device that is throttled: its arithmetic and its memory take `factor` times as long. Host time
// and links stay; the affine model knows no parts, so that all of it is slower.
std::unique_ptr<StepCost> slow_cost(const FleetGroup& group, double factor,
                                    const Catalog& catalog) {
  Resolved slow = group.resolved;
  CostSection& cost = slow.scenario.cost;
  cost.clock_share /= factor;
  cost.bandwidth_share /= factor;
  for (double AffineSection::*us :
       {&AffineSection::step_us, &AffineSection::prompt_token_us, &AffineSection::decode_token_us,
        &AffineSection::context_token_us}) {
    cost.affine.*us *= factor;
  }
  CostFacts facts;
  return make_replica_cost(slow, group.budget, catalog, facts);
}

TimeNs down_ns(const FleetSection& fleet, const FleetGroup& group) {
  if (!fleet.faults.down_s) return start_ns_of(fleet, group);
  return std::max<TimeNs>(1, ns_from_seconds(*fleet.faults.down_s));
}

std::vector<const FleetGroup*> group_by_replica(const std::vector<FleetGroup>& groups) {
  std::vector<const FleetGroup*> by_replica;
  for (const FleetGroup& group : groups) {
    by_replica.insert(by_replica.end(), static_cast<std::size_t>(group.places), &group);
  }
  return by_replica;
}

FaultOptions fault_options(const Scenario& scenario,
                           const std::vector<const FleetGroup*>& replicas) {
  const FaultsSection& faults = scenario.fleet.faults;
  FaultOptions options;
  options.seed = static_cast<std::uint64_t>(scenario.seed);
  options.mtbf_s = faults.mtbf_s.value_or(0);
  for (const FleetGroup* group : replicas) {
    options.down_ns.push_back(down_ns(scenario.fleet, *group));
  }
  for (const CrashSection& crash : faults.crashes) {
    const auto replica = static_cast<std::uint32_t>(crash.replica);
    const TimeNs down = crash.down_s ? std::max<TimeNs>(1, ns_from_seconds(*crash.down_s))
                                     : options.down_ns[replica];
    options.scheduled.push_back({ns_from_seconds(crash.at_s), FaultKind::crash, replica, down, 0});
  }
  // Its replicas start when the zone is back.
  const std::vector<std::int64_t> zones = zones_of_replicas(scenario);
  for (const ZoneLossSection& loss : faults.zone_losses) {
    for (std::uint32_t i = 0; i < replicas.size(); ++i) {
      if (zones[i] != loss.zone) continue;
      const TimeNs down = ns_from_seconds(loss.for_s) + start_ns_of(scenario.fleet, *replicas[i]);
      options.scheduled.push_back({ns_from_seconds(loss.at_s), FaultKind::zone_loss, i, down, 0});
    }
  }
  std::map<std::uint32_t, std::int32_t> costs;  // of each replica, in the order of make_replicas
  for (const SlowSection& slow : faults.slow) {
    const auto replica = static_cast<std::uint32_t>(slow.replica);
    const TimeNs at = ns_from_seconds(slow.at_s);
    options.scheduled.push_back({at, FaultKind::slow, replica, 1, costs[replica]++});
    options.scheduled.push_back(
        {ns_from_seconds(slow.at_s + slow.for_s), FaultKind::slow_end, replica, 1, 0});
  }
  return options;
}

std::unique_ptr<AdmissionPolicy> make_admission(const Scenario& scenario,
                                                const std::vector<SloSection>& slo) {
  const AdmissionSection& section = scenario.fleet.admission;
  if (section.policy == "max_in_flight") {
    return std::make_unique<MaxInFlight>(*section.max_in_flight);
  }
  if (section.policy == "priority") {
    const auto& classes = scenario.workload.classes;
    std::int64_t first = 0;  // of a trace: requests that say nothing are of the first priority
    if (scenario.workload.trace.file.empty()) {
      const auto least = std::ranges::min_element(
          classes, {}, [](const auto& one) { return one.workload.priority; });
      if (least != classes.end()) first = least->workload.priority;
    }
    const double low = *section.low_share * static_cast<double>(*section.max_in_flight);
    return std::make_unique<PriorityPlaces>(*section.max_in_flight, static_cast<std::int64_t>(low),
                                            static_cast<std::int32_t>(first));
  }
  if (section.policy == "token_bucket") {
    return std::make_unique<TokenBucket>(
        TokenBucket::Options{.counts_prompt_tokens = section.unit == "prompt_tokens",
                             .rate_per_s = *section.rate,
                             .burst = *section.burst});
  }
  if (section.policy == "unlimited") return nullptr;
  std::vector<TimeNs> promised;
  const auto add = [&](const std::optional<double>& ms) {
    promised.push_back(ms ? promise_ns(*ms) : kNever);
  };
  const std::optional<double> of_all = promised_ms(scenario.slo, "ttft");
  for (const SloSection& one : slo) {
    const std::optional<double> own = promised_ms(one, "ttft");
    add(own ? own : of_all);
  }
  if (slo.empty()) add(of_all);
  return std::make_unique<DeadlineShedding>(std::move(promised), ns_from_seconds(section.window_s));
}

// What clients of each class were promised, as `slo_aware` keeps it.
std::vector<LatencyTargets> promised_latencies(const Scenario& scenario,
                                               const std::vector<SloSection>& slo) {
  const double factor = scenario.fleet.router.slo_buffer_factor;
  const auto promised = [&](const SloSection& own, std::string_view latency) {
    const std::optional<double> first = promised_ms(own, latency);
    const std::optional<double> ms = first ? first : promised_ms(scenario.slo, latency);
    return ms ? std::max<TimeNs>(1, promise_ns(factor * *ms)) : kNever;
  };
  std::vector<LatencyTargets> targets;
  const auto add = [&](const SloSection& own) {
    targets.push_back({promised(own, "ttft"), promised(own, "tpot")});
  };
  for (const SloSection& one : slo) add(one);
  if (slo.empty()) add(scenario.slo);
  return targets;
}

// Replicas of a group have one model.
std::vector<LatencyModel> latency_models(const std::vector<FleetGroup>& groups,
                                         const std::vector<ReplicaParts>& replicas) {
  std::vector<LatencyModel> models;
  for (const FleetGroup& group : groups) {
    const LatencyModel model = latency_model(*replicas[models.size()].cost);
    models.insert(models.end(), static_cast<std::size_t>(group.places), model);
  }
  return models;
}

RouterOptions router_options(const Scenario& scenario,
                             const std::vector<const FleetGroup*>& replicas) {
  const RouterSection& section = scenario.fleet.router;
  RouterOptions options;
  options.seed = static_cast<std::uint64_t>(scenario.seed);
  options.replicas = replicas.size();
  for (const FleetGroup* group : replicas) options.weights.push_back(group->weight);
  options.ring_points = section.ring_points;
  options.update_delay_ns = ns_from_seconds(section.update_delay_ms / 1e3);
  options.prefix = {.cache_threshold = section.cache_threshold,
                    .balance_abs = section.balance_abs_threshold,
                    .balance_rel = section.balance_rel_threshold,
                    .tree_tokens = section.tree_tokens};
  options.weighted = {.prefix_weight = section.prefix_weight,
                      .kv_weight = section.kv_weight,
                      .request_weight = section.request_weight};
  options.slo.packs = section.headroom_selection_strategy == "least";
  options.slo.ttft_weight = section.ttft_weight;
  options.slo.tpot_weight = section.tpot_weight;
  return options;
}

}  // namespace

std::vector<ReplicaParts> make_replicas(const FaultsSection& faults,
                                        std::vector<FleetGroup>& groups, const Catalog& catalog) {
  std::vector<ReplicaParts> replicas;
  for (FleetGroup& group : groups) {
    const std::shared_ptr<const StepCost> cost =
        make_replica_cost(group.resolved, group.budget, catalog, group.cost);
    const CostFacts facts = group.cost;
    for (std::int64_t i = 0; i < group.places; ++i) {
      group.cost = facts;  // an API server takes the client's latency out of it, each time
      ReplicaParts parts = make_replica(group.resolved, group.budget,
                                        std::make_unique<SharedCost>(cost), group.cost);
      give_role(group, parts);
      const auto number = static_cast<std::int64_t>(replicas.size());
      for (const SlowSection& slow : faults.slow) {
        if (slow.replica != number) continue;
        parts.slow_costs.push_back(slow_cost(group, slow.factor, catalog));
      }
      replicas.push_back(std::move(parts));
    }
  }
  return replicas;
}

FleetParts make_fleet_parts(const Scenario& scenario, const std::vector<FleetGroup>& groups,
                            const std::vector<SloSection>& slo,
                            const std::vector<ReplicaParts>& made) {
  const std::vector<const FleetGroup*> replicas = group_by_replica(groups);
  FleetParts parts;
  RouterOptions router = router_options(scenario, replicas);
  router.slo.targets = promised_latencies(scenario, slo);
  router.slo.models = latency_models(groups, made);
  if (has_roles(groups)) {
    add_disaggregation(scenario, groups, router, parts);
  } else if (scenario.fleet.routes.empty()) {
    parts.router = router_row(scenario.fleet.router.policy).make(router);
  } else {
    std::unique_ptr<RouteRouter> routes = make_routes(scenario, groups, router);
    parts.stages = make_route_stages(scenario, groups, *routes);
    parts.router = std::move(routes);
  }
  parts.admission = make_admission(scenario, slo);
  const FaultsSection& faults = scenario.fleet.faults;
  parts.lifecycle = make_lifecycle(scenario, groups);
  const bool listed =
      !faults.crashes.empty() || !faults.slow.empty() || !faults.zone_losses.empty();
  if (faults.mtbf_s || listed) {
    parts.faults = std::make_unique<FaultSchedule>(fault_options(scenario, replicas));
  }
  return parts;
}

FleetOptions make_fleet_options(const Scenario& scenario) {
  FleetOptions options;
  options.seed = static_cast<std::uint64_t>(scenario.seed);
  options.router_delay_ns = ns_from_seconds(scenario.fleet.router.update_delay_ms / 1e3);
  options.resends_lost = scenario.fleet.faults.resend;
  return options;
}

}  // namespace headroom
