#pragma once
// Records nothing: for runs that need only the replicas' own totals.

#include "sim/serving/metrics_sink.hpp"

namespace headroom {

class NullSink final : public MetricsSink {
 public:
  void on_steps(const StepRun&) override {}
  void on_request(const RequestRecord&) override {}
  void on_event(const EngineEvent&) override {}
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}
};

}  // namespace headroom
