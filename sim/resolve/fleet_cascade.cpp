#include "sim/resolve/fleet_cascade.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "scheduler/routing/routers.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/seconds.hpp"
#include "sim/resolve/fleet_routes.hpp"

namespace headroom {
namespace {

std::size_t route_number(const FleetSection& fleet, const std::string& name) {
  const auto found = std::ranges::find(fleet.routes, name, &RouteSection::name);
  return static_cast<std::size_t>(found - fleet.routes.begin());
}

bool tells_thinking(const WorkloadSection& workload) {
  return !workload.trace.file.empty() ||
         std::ranges::any_of(workload.classes, [](const WorkloadClass& one) {
           return !one.workload.trace.file.empty();
         });
}

class CascadeValidator {
 public:
  explicit CascadeValidator(const Scenario& scenario) : s_(scenario), fleet_(scenario.fleet) {}

  void check() const {
    for (std::size_t i = 0; i < fleet_.routes.size(); ++i) {
      const RouteSection& route = fleet_.routes[i];
      const std::string here = fmt::format("/fleet/routes/{}", i);
      if (s_.is_given(here + "/thinking_tokens_factor") && !tells_thinking(s_.workload)) {
        s_.refuse_unused(
            here + "/thinking_tokens_factor",
            ": only traces list thinking tokens separately (use output_tokens_factor)");
      }
      if (route.escalates_to) {
        check_target(route, here);
      } else {
        check_nothing_escalates(here);
      }
      if (route.escalates_to || is_escalated_to(fleet_, route.name)) check_latencies(route, i);
    }
    for (std::size_t i = 0; i < fleet_.routes.size(); ++i) check_no_cycle(i);
  }

 private:
  void check_target(const RouteSection& route, const std::string& here) const {
    if (!route.escalates_share) s_.refuse(here, "missing: escalates_share", ErrorKind::missing);
    const std::string pointer = here + "/escalates_to";
    if (route_number(fleet_, *route.escalates_to) < fleet_.routes.size()) return;
    std::vector<std::string> names;
    for (const RouteSection& one : fleet_.routes) names.push_back(one.name);
    s_.refuse_value(
        pointer, fmt::format("\"{}\"", *route.escalates_to),
        fmt::format("no route has this name; the routes are: {}", fmt::join(names, ", ")),
        ErrorKind::unknown);
  }

  void check_nothing_escalates(const std::string& here) const {
    for (const char* name : {"escalates_share", "escalates_with_answer", "judge_ms"}) {
      const std::string pointer = fmt::format("{}/{}", here, name);
      if (s_.is_given(pointer)) s_.refuse_unused(pointer, " without escalates_to");
    }
  }

  // What replicas measure and predict is not what clients see: of an answer that is judged they see
  // nothing before its end, and of a later one also the time before it.
  void check_latencies(const RouteSection& route, std::size_t number) const {
    const std::string policy = route.policy.value_or(fleet_.router.policy);
    if (router_row(policy).keeps_promises) {
      s_.refuse_value(
          route.policy ? fmt::format("/fleet/routes/{}/policy", number) : "/fleet/router/policy",
          fmt::format("\"{}\"", policy),
          fmt::format("cannot predict the latencies that clients see on route {}, which is part of "
                      "a cascade",
                      route.name),
          ErrorKind::conflict);
    }
    for (std::size_t i = 0; i < fleet_.autoscaling.size(); ++i) {
      const AutoscalingSection& one = fleet_.autoscaling[i];
      const bool of_route = std::ranges::find(route.groups, one.group) != route.groups.end();
      if (!of_route || (one.metric != "ttft" && one.metric != "tpot")) continue;
      s_.refuse_value(
          fmt::format("/fleet/autoscaling/{}/metric", i), fmt::format("\"{}\"", one.metric),
          fmt::format("is not the latency that clients see on route {}, which is part of a cascade",
                      route.name),
          ErrorKind::conflict);
    }
  }

  // Every target is known.
  void check_no_cycle(std::size_t first) const {
    std::string names = fleet_.routes[first].name;
    std::size_t at = first;
    for (std::size_t steps = 0; steps < fleet_.routes.size(); ++steps) {
      if (!fleet_.routes[at].escalates_to) return;
      at = route_number(fleet_, *fleet_.routes[at].escalates_to);
      names += " -> " + fleet_.routes[at].name;
      if (at != first) continue;
      s_.refuse(fmt::format("/fleet/routes/{}/escalates_to", first),
                fmt::format("requests would circulate forever: {}", names));
    }
  }

  const Scenario& s_;
  const FleetSection& fleet_;
};

RouteStage stage_of(const FleetSection& fleet, const RouteSection& route) {
  RouteStage stage;
  constexpr double kMost = TokenFactors::kMost;
  stage.tokens = {
      .input = DecimalFactor(route.input_tokens_factor, kMost, "input_tokens_factor"),
      .output = DecimalFactor(route.output_tokens_factor, kMost, "output_tokens_factor"),
      .thinking = DecimalFactor(route.thinking_tokens_factor, kMost, "thinking_tokens_factor")};
  if (!route.escalates_to) return stage;
  stage.escalation = Escalation{.to = route_number(fleet, *route.escalates_to),
                                .share = *route.escalates_share,
                                .with_answer = route.escalates_with_answer,
                                .judge_ns = ns_from_seconds(route.judge_ms / 1e3)};
  return stage;
}

}  // namespace

bool is_escalated_to(const FleetSection& fleet, const std::string& name) {
  return std::ranges::any_of(fleet.routes,
                             [&](const RouteSection& route) { return route.escalates_to == name; });
}

bool judges_answers(const FleetSection& fleet) {
  return std::ranges::any_of(
      fleet.routes, [](const RouteSection& route) { return route.escalates_to.has_value(); });
}

std::optional<RouteStagesParts> make_route_stages(const Scenario& scenario,
                                                  const std::vector<FleetGroup>& groups,
                                                  RouteRouter& router) {
  const FleetSection& fleet = scenario.fleet;
  RouteStagesParts parts;
  parts.router = &router;
  parts.seed = static_cast<std::uint64_t>(scenario.seed);
  bool needed = false;
  for (const RouteSection& route : fleet.routes) {
    parts.routes.push_back(stage_of(fleet, route));
    needed |= parts.routes.back().escalation.has_value() || !parts.routes.back().tokens.are_one();
  }
  if (!needed) return std::nullopt;
  std::uint32_t replica = 0;
  for (const FleetGroup& group : groups) {
    RouteStage& stage = parts.routes[route_of_group(fleet, group.name)];
    for (std::int64_t i = 0; i < group.places; ++i) stage.replicas.push_back(replica++);
  }
  return parts;
}

void validate_fleet_cascade(const Scenario& scenario) { CascadeValidator(scenario).check(); }

}  // namespace headroom
