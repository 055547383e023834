#pragma once
// Inter-token latency: gaps between consecutive tokens of a request, pooled over all requests
// (`vllm bench serve`; ENGINES.md 7.1). Mean and std are exact, from integer sums in ticks;
// percentiles come from a histogram of whole nanoseconds (buckets <= 0.1 %).

#include <cstdint>
#include <span>

#include "sim/kernel/log_histogram.hpp"
#include "sim/kernel/wide_sum.hpp"
#include "sim/serving/metrics_sink.hpp"

namespace headroom {

class ItlMeter {
 public:
  // O(1 + histogram buckets the step duration passes through), whatever the number of steps.
  void add(const StepRun& run);

  [[nodiscard]] std::int64_t count() const { return histogram_.count(); }
  [[nodiscard]] TickSum sum_ticks() const { return sum_; }
  [[nodiscard]] const WideSum& sum_squares() const { return squares_; }  // ticks^2
  [[nodiscard]] const LogHistogram& histogram_ns() const { return histogram_; }

 private:
  void add_parts(std::span<const GapRun> parts, std::int64_t gaps);
  void add_run(Ticks first, Ticks slope, StepCount steps, std::int64_t gaps);
  void add_gaps(TickSum ticks, std::int64_t count);
  void add_squares(Ticks first, Ticks slope, StepCount steps, std::int64_t gaps);
  void add_buckets(Ticks first, Ticks slope, StepCount steps, std::int64_t gaps);

  TickSum sum_ = 0;
  WideSum squares_;
  LogHistogram histogram_;
};

}  // namespace headroom
