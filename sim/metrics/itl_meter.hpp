#pragma once
// Inter-token latency: gaps between consecutive tokens of a request, pooled over all requests
// (`vllm bench serve`; ENGINES.md 7.1). Mean and std are exact, from integer sums in ticks;
// percentiles come from a histogram of whole nanoseconds (buckets <= 0.1 %).

#include <cstdint>
#include <span>

#include "sim/kernel/check.hpp"
#include "sim/kernel/log_histogram.hpp"
#include "sim/kernel/wide_sum.hpp"
#include "sim/serving/metrics_sink.hpp"

namespace headroom {

class ItlMeter {
 public:
  // O(1 + histogram buckets the step duration passes through), whatever the number of steps.
  void add(const StepRun& run) {
    if (!run.other_gaps.empty()) [[unlikely]] {
      add_groups(run.other_gaps);
    }
    const std::int64_t gaps = run.gaps_per_step;
    if (gaps == 0) return;
    HEADROOM_CHECK(gaps > 0 && gaps <= kMaxGapsPerStep, "decoding rows of a step out of range");
    if (run.steps > 1 || run.first_ticks >= kShortStep || !run.gaps.empty()) return add_runs(run);
    const auto ticks = static_cast<std::uint64_t>(run.first_ticks);
    sum_ += Int128{run.first_ticks} * gaps;
    squares_.add(Uint128{ticks} * ticks * static_cast<std::uint64_t>(gaps));
    histogram_.add(floor_ns(run.first_ticks), gaps);
  }

  [[nodiscard]] std::int64_t count() const { return histogram_.count(); }
  [[nodiscard]] TickSum sum_ticks() const { return sum_; }
  [[nodiscard]] const WideSum& sum_squares() const { return squares_; }  // ticks^2
  [[nodiscard]] const LogHistogram& histogram_ns() const { return histogram_; }

 private:
  static constexpr std::int64_t kMaxGapsPerStep = std::int64_t{1} << 17;
  static constexpr Ticks kShortStep = Ticks{1} << 50;  // 1 s

  void add_groups(std::span<const GapGroup> groups);
  void add_runs(const StepRun& run);
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
