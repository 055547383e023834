#include "scheduler/fleet/autoscaler.hpp"

#include <algorithm>
#include <cmath>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

// A hair above a whole number is the rounding of a quotient, not load.
constexpr double kRounding = 1e-9;

std::int64_t whole_above(double replicas) {
  constexpr double kMost = 1e9;
  return static_cast<std::int64_t>(std::ceil(std::min(replicas, kMost) - kRounding));
}

}  // namespace

HorizontalAutoscaler::HorizontalAutoscaler(const AutoscalerOptions& options) : options_(options) {
  HEADROOM_CHECK(options.min_replicas >= 1 && options.max_replicas >= options.min_replicas,
                 "an autoscaler without replicas");
  HEADROOM_CHECK(options.target > 0, "an autoscaler without a target");
  recommendations_.push_back({0, options.initial});
}

bool HorizontalAutoscaler::tolerates(double ratio) const {
  return std::abs(ratio - 1) <= options_.tolerance + kRounding;
}

// Replicas that are not ready count as idle for more replicas, and not at all for fewer.
std::int64_t HorizontalAutoscaler::recommended(const ScalingView& view) const {
  HEADROOM_CHECK(view.ready >= 1 && view.ready <= view.replicas, "a metric of no replica");
  const double ratio = view.metric / options_.target;
  const auto ready = static_cast<double>(view.ready);
  const bool with_unready = view.replicas > view.ready && ratio > 1;
  if (!with_unready) return tolerates(ratio) ? view.replicas : whole_above(ratio * ready);
  const double diluted = ratio * ready / static_cast<double>(view.replicas);
  if (tolerates(diluted) || diluted < 1) return view.replicas;
  return whole_above(diluted * static_cast<double>(view.replicas));
}

std::int64_t HorizontalAutoscaler::stabilised(const ScalingView& view, std::int64_t wanted) {
  std::int64_t up = wanted;
  std::int64_t down = wanted;
  for (const Timed& one : recommendations_) {
    if (one.time_ns > view.now_ns - options_.up_window_ns) up = std::min(up, one.replicas);
    if (one.time_ns > view.now_ns - options_.down_window_ns) down = std::max(down, one.replicas);
  }
  recommendations_.push_back({view.now_ns, wanted});
  const TimeNs longest = std::max(options_.up_window_ns, options_.down_window_ns);
  while (recommendations_.front().time_ns <= view.now_ns - longest && recommendations_.size() > 1) {
    recommendations_.pop_front();
  }
  return std::min(std::max(view.replicas, up), down);
}

// The number of replicas at the start of the period that ends now.
std::int64_t HorizontalAutoscaler::limited(const ScalingView& view, std::int64_t wanted) {
  while (!changes_.empty() && changes_.front().time_ns <= view.now_ns - options_.period_ns) {
    changes_.pop_front();
  }
  std::int64_t before = view.replicas;
  for (const Timed& change : changes_) before -= change.replicas;
  // What has gone the other way meanwhile does not take replicas away, or add any.
  const std::int64_t most = std::max(view.replicas, before + options_.up_most);
  const std::int64_t fewest = std::min(view.replicas, before - options_.down_most);
  if (options_.up_most > 0) wanted = std::min(wanted, most);
  if (options_.down_most > 0) wanted = std::max(wanted, fewest);
  return std::clamp(wanted, options_.min_replicas, options_.max_replicas);
}

std::int64_t HorizontalAutoscaler::desired(const ScalingView& view) {
  const std::int64_t wanted = limited(view, stabilised(view, recommended(view)));
  if (wanted != view.replicas) changes_.push_back({view.now_ns, wanted - view.replicas});
  return wanted;
}

}  // namespace headroom
