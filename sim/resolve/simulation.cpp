#include "sim/resolve/simulation.hpp"

#include <algorithm>
#include <utility>

#include "scheduler/routing/round_robin.hpp"
#include "sim/kernel/seconds.hpp"
#include "sim/metrics/run_digest.hpp"
#include "sim/resolve/factory.hpp"
#include "sim/resolve/fleet_factory.hpp"

namespace headroom {
namespace {

// Memory for records is set aside up to this many; a longer run grows its table as it goes.
constexpr std::int64_t kMostExpectedRequests = 8'000'000;

// Tells another thread how far the run is.
class CountingSource final : public WorkloadSource {
 public:
  CountingSource(WorkloadSource& inner, std::atomic<std::uint64_t>& done)
      : inner_(inner), done_(done) {}

  [[nodiscard]] TimeNs next_time() override { return inner_.next_time(); }
  [[nodiscard]] Arrival take() override { return inner_.take(); }
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override {
    done_.fetch_add(1, std::memory_order_relaxed);
    inner_.on_done(index, outcome, now_ns);
  }

 private:
  WorkloadSource& inner_;
  std::atomic<std::uint64_t>& done_;
};

GoodputLimits goodput_limits(const SloSection& slo) {
  return {slo.ttft_ms, slo.tpot_ms, slo.e2el_ms};
}

SummaryOptions summary_options(const Scenario& scenario, const CostFacts& cost,
                               const Workload& workload) {
  SummaryOptions options;
  options.serving.client_latency = cost.client_latency;
  options.serving.goodput = goodput_limits(scenario.slo);
  for (const SloSection& slo : workload.slo) {
    options.serving.class_goodput.push_back(goodput_limits(slo));
  }
  options.classes = static_cast<std::int32_t>(workload.facts.classes.size());
  options.windows.warmup_s = scenario.run.warmup_s;
  options.windows.steady_end_s = scenario.run.steady_end_s;
  return options;
}

FleetParts make_fleet(const RunResult& result, const Workload& workload,
                      const std::vector<ReplicaParts>& replicas) {
  if (!result.is_fleet) return {std::make_unique<RoundRobinRouter>()};
  return make_fleet_parts(result.resolved.scenario, result.groups, workload.slo, replicas);
}

RecorderOptions recorder_options(const Scenario& scenario, const SummaryOptions& summary,
                                 std::int64_t requests) {
  RecorderOptions options;
  options.timeline.interval_ns = ns_from_seconds(scenario.output.timeline_interval_s);
  options.expected_requests = static_cast<std::size_t>(std::min(requests, kMostExpectedRequests));
  if (scenario.output.streaming) {
    options.stream.emplace(summary.serving, summary.windows, summary.classes);
  }
  return options;
}

}  // namespace

std::vector<ReplicaParts> make_parts(RunResult& result, const Catalog& catalog) {
  const FaultsSection& faults = result.resolved.scenario.fleet.faults;
  std::vector<ReplicaParts> parts = make_replicas(faults, result.groups, catalog);
  result.cost = result.groups.front().cost;
  return parts;
}

Simulation::Simulation(const Catalog& catalog, const RunControl& control, Workload& workload,
                       RunResult& result, bool follows_requests)
    : result_(result) {
  const Scenario& scenario = result.resolved.scenario;
  std::vector<ReplicaParts> parts = make_parts(result, catalog);
  FleetParts fleet_parts = make_fleet(result, workload, parts);
  summary_ = summary_options(scenario, result.cost, workload);
  result.recorder =
      std::make_unique<Recorder>(recorder_options(scenario, summary_, workload.facts.requests));
  if (control.done != nullptr) {
    counting_ = std::make_unique<CountingSource>(*workload.source, *control.done);
  }
  WorkloadSource& source = counting_ ? *counting_ : *workload.source;
  if (control.sink != nullptr) {
    both_.emplace(std::vector<MetricsSink*>{result.recorder.get(), control.sink});
  }
  MetricsSink& sink = both_ ? static_cast<MetricsSink&>(*both_) : *result.recorder;
  FleetOptions options = make_fleet_options(scenario);
  options.follows_requests = follows_requests;
  fleet_ = std::make_unique<Fleet>(options, std::move(parts), std::move(fleet_parts), source, sink);
}

Simulation::~Simulation() = default;

void Simulation::settle(StopReason stop) {
  result_.stop = stop;
  result_.totals = fleet_->totals();
  result_.recorder->finish(result_.totals.end_ns);
  Digest digest = begin_run_digest(*result_.recorder);
  result_.summary = summarise(*result_.recorder, summary_, &digest);
  result_.digest = end_run_digest(digest, *result_.recorder);
  result_.started = true;
}

}  // namespace headroom
