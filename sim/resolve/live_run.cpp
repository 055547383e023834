#include "sim/resolve/live_run.hpp"

#include <algorithm>
#include <utility>

#include "sim/resolve/resolve.hpp"

namespace headroom {
namespace {

void check_can_be_live(const Scenario& scenario) {
  if (scenario.engine.api_server_count) {
    scenario.refuse("/engine/api_server_count",
                    "not with live requests: the model of an API server has to know when clients "
                    "will give up",
                    ErrorKind::unsupported);
  }
  if (!scenario.fleet.routes.empty()) {
    scenario.refuse("/fleet/routes", "not with live requests, which have no class to route by",
                    ErrorKind::unsupported);
  }
}

}  // namespace

LiveRun::LiveRun(const Scenario& scenario, const Catalog& catalog, MetricsSink& sink)
    : catalog_(catalog) {
  check_can_be_live(scenario);
  auto arrivals = std::make_unique<LiveArrivals>();
  arrivals_ = arrivals.get();
  Workload live;
  live.source = std::move(arrivals);
  live.facts.classes = {""};
  live.facts.from_clients = true;
  live.facts.max_tokens_rule = max_tokens_text(scenario.workload.max_tokens);
  live.account = [](WorkloadFacts&) {};
  result_ = prepare_run(scenario, catalog, std::move(live), workload_);
  for (const FleetGroup& group : result_.groups) check_can_be_live(group.resolved.scenario);
  if (result_.budget.failure) return;
  simulation_.emplace(catalog_, RunControl{.sink = &sink}, workload_, result_, true);
  simulation_->fleet().begin();
}

std::int32_t LiveRun::max_model_len() const {
  std::int32_t least = INT32_MAX;
  for (const FleetGroup& group : result_.groups) {
    least = std::min(least, longest_request(group.resolved));
  }
  return least;
}

std::uint64_t LiveRun::arrive(const Arrival& arrival, std::vector<PrefixSegment> prefix) {
  result_.workload.has_priorities |= arrival.priority != 0;
  result_.workload.shares_prefixes |= !prefix.empty();
  const std::uint64_t index = arrivals_->add(arrival, std::move(prefix));
  simulation_->fleet().note_arrivals();
  return index;
}

RunResult LiveRun::finish(TimeNs now_ns) {
  if (simulation_) simulation_->settle(simulation_->fleet().end(now_ns));
  conclude_run(catalog_, workload_, result_);
  return std::move(result_);
}

}  // namespace headroom
