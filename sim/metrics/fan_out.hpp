#pragma once
// Forwards every call to several sinks, in their order.

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/serving/metrics_sink.hpp"

namespace headroom {

class FanOut final : public MetricsSink {
 public:
  // The sinks outlive this object.
  explicit FanOut(std::vector<MetricsSink*> sinks) : sinks_(std::move(sinks)) {}

  [[nodiscard]] bool wants_plans() const override {
    return std::ranges::any_of(sinks_, [](const MetricsSink* sink) { return sink->wants_plans(); });
  }
  void on_plan(const PlannedStep& step) override {
    for (MetricsSink* sink : sinks_) {
      if (sink->wants_plans()) sink->on_plan(step);
    }
  }
  void on_steps(const StepRun& run) override {
    for (MetricsSink* sink : sinks_) sink->on_steps(run);
  }
  void on_request(const RequestRecord& record) override {
    for (MetricsSink* sink : sinks_) sink->on_request(record);
  }
  void on_event(const EngineEvent& event) override {
    for (MetricsSink* sink : sinks_) sink->on_event(event);
  }
  void on_idle(std::uint16_t replica, TickSum instant, const ReplicaState& state) override {
    for (MetricsSink* sink : sinks_) sink->on_idle(replica, instant, state);
  }

 private:
  std::vector<MetricsSink*> sinks_;
};

}  // namespace headroom
