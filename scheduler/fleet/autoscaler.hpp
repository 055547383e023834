#pragma once
// The rule of the Kubernetes Horizontal Pod Autoscaler (pkg/controller/podautoscaler:
// replica_calculator.go, horizontal.go): replicas in proportion to a metric over its target, with a
// tolerance, stabilisation windows and a limit of replicas per period.

#include <cstdint>
#include <deque>

#include "sim/serving/scaling_policy.hpp"

namespace headroom {

struct AutoscalerOptions {
  std::int64_t min_replicas = 1;  // >= 1
  std::int64_t max_replicas = 1;  // >= min_replicas
  std::int64_t initial = 1;       // replicas at time 0, the first recommendation
  double target = 1;              // of the metric, > 0
  double tolerance = 0.1;         // ratios this near to 1 change nothing
  TimeNs up_window_ns = 0;        // the least recommendation of so long holds for more replicas,
  TimeNs down_window_ns = 300 * kNsPerSecond;  // the greatest for fewer
  std::int64_t up_most = 0;                    // added within a period; 0: no limit
  std::int64_t down_most = 0;                  // taken away within a period; 0: no limit
  TimeNs period_ns = 60 * kNsPerSecond;
};

class HorizontalAutoscaler final : public ScalingPolicy {
 public:
  explicit HorizontalAutoscaler(const AutoscalerOptions& options);
  [[nodiscard]] std::int64_t desired(const ScalingView& view) override;

 private:
  struct Timed {
    TimeNs time_ns = 0;
    std::int64_t replicas = 0;
  };

  [[nodiscard]] std::int64_t recommended(const ScalingView& view) const;
  [[nodiscard]] std::int64_t stabilised(const ScalingView& view, std::int64_t wanted);
  [[nodiscard]] std::int64_t limited(const ScalingView& view, std::int64_t wanted);
  [[nodiscard]] bool tolerates(double ratio) const;

  AutoscalerOptions options_;
  std::deque<Timed> recommendations_;  // before limits, the oldest first
  std::deque<Timed> changes_;          // replicas added (negative: taken away)
};

}  // namespace headroom
