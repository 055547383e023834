#include "sim/resolve/fleet_disaggregation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "hardware/llm/kv_geometry.hpp"
#include "scheduler/batching/decode_first.hpp"
#include "scheduler/batching/policies.hpp"
#include "scheduler/routing/routers.hpp"
#include "scheduler/routing/subset.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/named_value.hpp"
#include "sim/kernel/seconds.hpp"
#include "sim/serving/prefix.hpp"

namespace headroom {
namespace {

constexpr const char* kSection = "/fleet/disaggregation";

std::string role_pointer(std::size_t group) { return fmt::format("/fleet/groups/{}/role", group); }

// The rest of the engine's state would have to move with the KV, or the engine's rule is another.
std::string not_modelled(const Resolved& resolved, const MemoryBudget& budget) {
  const EngineSection& e = resolved.scenario.engine;
  if (!resolved.scheduler->traits.hands_over || !resolved.allocator->in_blocks) {
    return fmt::format("not modelled for scheduler {} on {}: expected {} on paged",
                       resolved.scheduler->name, resolved.allocator->name,
                       fmt::join(policies_that(&BatchTraits::hands_over), ", "));
  }
  if (serves_by_priority(resolved)) return "not modelled with engine.scheduling_policy";
  if (e.speculative.is_on()) return "not modelled with engine.speculative";
  if (e.enable_lora) return "not modelled with engine.enable_lora";
  if (e.has_api_server()) return "not modelled with engine.api_server_count";
  if (!budget.layout.keeps_all()) {
    return fmt::format("not modelled for {}, which has layers with windows or states",
                       resolved.model.id);
  }
  return "";
}

// Of all ranks, each head once: however an engine is sharded, that is what moves.
ByteCount token_bytes(const Resolved& resolved) {
  return kv_bytes_per_token(resolved.model, kv_format(resolved), Sharding{});
}

void check_alike(const Scenario& scenario, const std::vector<FleetGroup>& groups, std::size_t i) {
  const FleetGroup& first = groups.front();
  const FleetGroup& one = groups[i];
  const auto differ = [&](std::string_view what, const auto& a, const auto& b) {
    if (a == b) return;
    scenario.refuse(role_pointer(i), fmt::format("{} cannot use the KV of {}: {} {}, not {}",
                                                 one.name, first.name, what, b, a));
  };
  differ("model", first.resolved.model.id, one.resolved.model.id);
  differ("engine.block_size", first.budget.layout.block_tokens, one.budget.layout.block_tokens);
  differ("bytes of KV per token", token_bytes(first.resolved), token_bytes(one.resolved));
}

std::unique_ptr<Router> router_for(const std::vector<FleetGroup>& groups, ReplicaRole role,
                                   const std::string& policy, const RouterOptions& all) {
  std::vector<std::uint32_t> members;
  std::vector<double> weights;
  std::uint32_t number = 0;
  for (const FleetGroup& group : groups) {
    for (std::int64_t i = 0; i < group.count; ++i, ++number) {
      if (group.role != role) continue;
      members.push_back(number);
      weights.push_back(group.weight);
    }
  }
  RouterOptions options = all;
  options.replicas = members.size();
  options.weights = std::move(weights);
  options.slo = {};
  return std::make_unique<SubsetRouter>(router_row(policy).make(options), std::move(members),
                                        number);
}

}  // namespace

ReplicaRole role_of(const GroupSection& group) {
  return value_named<ReplicaRole>(group.role, {{"both", ReplicaRole::both},
                                               {"prefill", ReplicaRole::prefill},
                                               {"decode", ReplicaRole::decode}});
}

bool has_roles(const std::vector<FleetGroup>& groups) {
  return std::ranges::any_of(
      groups, [](const FleetGroup& group) { return group.role != ReplicaRole::both; });
}

void validate_disaggregation(const Scenario& scenario) {
  const std::vector<GroupSection>& groups = scenario.fleet.groups;
  const auto count = [&](ReplicaRole role) { return std::ranges::count(groups, role, role_of); };
  const auto both = static_cast<std::size_t>(count(ReplicaRole::both));
  if (both == groups.size()) {
    const std::string given = scenario.given_below(kSection);
    if (given.empty()) return;
    scenario.refuse_unused(given, " without groups with roles prefill and decode");
  }
  for (const char* other : {"/fleet/autoscaling", "/fleet/restarts", "/fleet/routes"}) {
    const std::string given = scenario.given_below(other);
    if (!given.empty())
      scenario.refuse(given, "not modelled with separate prefill and decode groups",
                      ErrorKind::unsupported);
  }
  if (router_row(scenario.fleet.router.policy).keeps_promises) {
    scenario.refuse_value(
        "/fleet/router/policy", fmt::format("\"{}\"", scenario.fleet.router.policy),
        "not modelled with separate prefill and decode groups", ErrorKind::unsupported);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (role_of(groups[i]) != ReplicaRole::both) continue;
    scenario.refuse_value(role_pointer(i), "\"both\"",
                          "if one group prefills or decodes, each group must do one of the two: "
                          "expected prefill or decode");
  }
  for (const ReplicaRole role : {ReplicaRole::prefill, ReplicaRole::decode}) {
    if (count(role) > 0) continue;
    const bool prefills = role == ReplicaRole::prefill;
    scenario.refuse(
        role_pointer(0),
        fmt::format("no group has role {}: expected at least one", prefills ? "prefill" : "decode"),
        ErrorKind::missing);
  }
  if (!scenario.fleet.disaggregation.link_gb_per_s) {
    scenario.refuse_missing(fmt::format("{}/link_gb_per_s", kSection),
                            "GB/s of each replica's network port, over which KV moves");
  }
  if (scenario.workload.n > 1) {
    scenario.refuse("/workload/n", "not modelled with separate prefill and decode groups",
                    ErrorKind::unsupported);
  }
}

void check_roles(const Scenario& scenario, const std::vector<FleetGroup>& groups) {
  if (!has_roles(groups)) return;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].budget.failure) continue;  // that is the run's result
    const std::string why = not_modelled(groups[i].resolved, groups[i].budget);
    if (!why.empty()) scenario.refuse(role_pointer(i), why, ErrorKind::unsupported);
    if (!groups.front().budget.failure) check_alike(scenario, groups, i);
  }
}

void give_role(const FleetGroup& group, ReplicaParts& parts) {
  const Scenario& scenario = group.resolved.scenario;
  parts.options.role = group.role;
  parts.options.prefill_token_counts = scenario.fleet.disaggregation.first_token == "prefill";
  const BlockCount blocks = parts.kv->pool().total_blocks / group.resolved.sharding.data;
  parts.options.arriving_keep_free =
      watermark_blocks(scenario.engine.watermark.value_or(0), blocks + 1);
}

void add_disaggregation(const Scenario& scenario, const std::vector<FleetGroup>& groups,
                        const RouterOptions& router, FleetParts& parts) {
  const DisaggregationSection& section = scenario.fleet.disaggregation;
  parts.router = router_for(groups, ReplicaRole::prefill, scenario.fleet.router.policy, router);
  // Draws of its own, and no weights of the other router's parts.
  RouterOptions other;
  other.seed = mixed_id(router.seed, 1);
  other.update_delay_ns = router.update_delay_ns;
  const FleetGroup& first = groups.front();
  DisaggregationOptions options;
  options.link_bytes_per_s =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(*section.link_gb_per_s * 1e9 + 0.5));
  options.link_latency_ns = ns_from_seconds(section.link_latency_ms / 1e3);
  options.block_bytes = token_bytes(first.resolved) * first.budget.layout.block_tokens;
  options.max_local_prefill_tokens = section.max_local_prefill_tokens;
  options.max_prefill_queue = section.max_prefill_queue;
  parts.disaggregation.emplace(DisaggregationParts{
      options, router_for(groups, ReplicaRole::decode, section.decode_router, other)});
}

}  // namespace headroom
