#include "tests/laws/scenario_runs.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <utility>

#include "scheduler/routing/round_robin.hpp"
#include "sim/kernel/check.hpp"
#include "tests/support/production.hpp"
#include "tests/support/scenario_generator.hpp"

namespace headroom::laws {

ReplicaParts production(const oracle::Scenario& scenario) { return test::make_parts(scenario); }

void ResultSink::on_request(const RequestRecord& r) {
  results.resize(std::max(results.size(), static_cast<std::size_t>(r.index) + 1));
  results[r.index] = {.outcome = r.outcome,
                      .queued_ns = r.queued_ns,
                      .first_scheduled_ns = r.first_scheduled_ns,
                      .first_token_ns = r.first_token_ns,
                      .finish_ns = r.finish_ns,
                      .output_tokens = r.output_tokens,
                      .preemptions = r.preemptions};
}

TimeNs run_engines(const std::vector<oracle::Scenario>& engines, const Model& model,
                   std::unique_ptr<Router> router, WorkloadSource& workload, MetricsSink& sink) {
  std::vector<ReplicaParts> parts;
  parts.reserve(engines.size());
  for (const oracle::Scenario& engine : engines) parts.push_back(model(engine));
  Fleet fleet({}, std::move(parts), std::move(router), workload, sink);
  RunLimits limits;
  limits.no_progress_events = 20'000;  // a request of a scenario may be stuck for good
  fleet.run(limits);
  return fleet.totals().end_ns;
}

Results run_scenario(const oracle::Scenario& scenario, const Model& model) {
  test::ListSource source(scenario.arrivals);
  ResultSink sink;
  run_engines({scenario}, model, std::make_unique<RoundRobinRouter>(), source, sink);
  return std::move(sink.results);
}

bool all_finished(const Results& results) {
  return std::all_of(results.begin(), results.end(),
                     [](const oracle::RequestResult& r) { return r.outcome == Outcome::finished; });
}

Results shifted(Results results, TimeNs by_ns) {
  for (oracle::RequestResult& r : results) {
    for (TimeNs* t : {&r.queued_ns, &r.first_scheduled_ns, &r.first_token_ns, &r.finish_ns}) {
      if (*t >= 0) *t += by_ns;
    }
  }
  return results;
}

bool holds_for_all(const ScenarioLaw& law, int count) {
  std::uint64_t seed = 1;
  for (int applied = 0; applied < count; ++seed) {
    HEADROOM_CHECK(seed < 1'000'000, "a law that applies to hardly any scenario");
    const Verdict result = law(oracle::random_scenario(seed), seed);
    if (result == Verdict::does_not_apply) continue;
    ++applied;
    if (result == Verdict::fails) {
      UNSCOPED_INFO(fmt::format("broken by random_scenario({}), number {}", seed, applied));
      return false;
    }
  }
  return true;
}

}  // namespace headroom::laws
