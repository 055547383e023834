#pragma once
// Random scenarios through production, for the metamorphic laws (VERIFICATION V4): a law compares
// runs with each other, never with an expected number.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/serving/fleet.hpp"
#include "tests/oracle/oracle_types.hpp"

namespace headroom::laws {

// How a scenario becomes an engine: production's parts, or wrong ones.
using Model = std::function<ReplicaParts(const oracle::Scenario&)>;
[[nodiscard]] ReplicaParts production(const oracle::Scenario& scenario);

using Results = std::vector<oracle::RequestResult>;  // in order of arrival
[[nodiscard]] Results run_scenario(const oracle::Scenario& scenario,
                                   const Model& model = production);
// Any workload and sink on replicas of this scenario's engine. Returns when the run ended.
TimeNs run_engines(const std::vector<oracle::Scenario>& engines, const Model& model,
                   std::unique_ptr<Router> router, WorkloadSource& workload, MetricsSink& sink);

// Collects what became of each request.
class ResultSink final : public MetricsSink {
 public:
  void on_steps(const StepRun&) override {}
  void on_request(const RequestRecord& record) override;
  void on_event(const EngineEvent&) override {}
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}

  Results results;
};

[[nodiscard]] bool all_finished(const Results& results);
// The same `by_ns` later.
[[nodiscard]] Results shifted(Results results, TimeNs by_ns);

// What a law says of one scenario; not every law has something to say of each.
enum class Verdict : std::uint8_t { holds, fails, does_not_apply };
[[nodiscard]] inline Verdict verdict(bool holds) { return holds ? Verdict::holds : Verdict::fails; }

// Whether a law holds for every random scenario of seeds 1, 2, 3 ... until it applied to `count`.
// The seed that broke it is in the next assertion's message.
using ScenarioLaw = std::function<Verdict(const oracle::Scenario&, std::uint64_t seed)>;
[[nodiscard]] bool holds_for_all(const ScenarioLaw& law, int count = 1000);

}  // namespace headroom::laws
