#pragma once
// One simulation whose requests come from outside while it goes on: the clock is the caller's, and
// so are the arrivals. Its results are those of `run` on a trace of the same arrivals.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/resolve/run.hpp"
#include "sim/resolve/simulation.hpp"
#include "workloads/live_arrivals.hpp"

namespace headroom {

class LiveRun {
 public:
  // `scenario`: with the trace of these requests for its workload, which is not read. ConfigError
  // as from `run`, and for what has to know of a request more than comes with it: an API server
  // process, routes that judge answers. `sink` also receives everything; it and the catalog
  // outlive this object.
  LiveRun(const Scenario& scenario, const Catalog& catalog, MetricsSink& sink);
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  // What is known before the first request; budget.failure: nothing runs, and only finish() may be
  // called.
  [[nodiscard]] const RunResult& setup() const { return result_; }
  // Tokens of a request, prompt and answer, in every group.
  [[nodiscard]] std::int32_t max_model_len() const;

  // A request at `arrival.time_ns`, which is later than the latest advance() and not before the
  // latest arrival. Returns its number, from 0.
  std::uint64_t arrive(const Arrival& arrival, std::vector<PrefixSegment> prefix);
  // As of Fleet.
  void leave(std::uint64_t index, TimeNs now_ns) { simulation_->fleet().leave(index, now_ns); }
  void advance(TimeNs until_ns) { simulation_->fleet().advance(until_ns); }
  [[nodiscard]] TimeNs next_ns() const { return simulation_->fleet().next_ns(); }
  [[nodiscard]] std::optional<std::int32_t> tokens_out(std::uint64_t index) const {
    return simulation_->fleet().tokens_out(index);
  }
  [[nodiscard]] const std::vector<std::unique_ptr<Replica>>& replicas() const {
    return simulation_->fleet().replicas();
  }

  // The last call, at `now_ns`, by when advance() has been.
  [[nodiscard]] RunResult finish(TimeNs now_ns);

 private:
  const Catalog& catalog_;
  LiveArrivals* arrivals_ = nullptr;  // owned by workload_
  Workload workload_;
  RunResult result_;
  std::optional<Simulation> simulation_;
};

}  // namespace headroom
