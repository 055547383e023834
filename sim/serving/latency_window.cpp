#include "sim/serving/latency_window.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {

void LatencyWindow::add(TimeNs latency_ns) {
  HEADROOM_CHECK(latency_ns >= 0, "a latency below zero");
  if (buckets_.count() > 0) return buckets_.add(latency_ns);
  exact_.push_back(latency_ns);
  if (exact_.size() <= kMostExact) return;
  for (const TimeNs one : exact_) buckets_.add(one);
  exact_.clear();
}

void LatencyWindow::clear() {
  exact_.clear();
  buckets_ = {};
}

std::optional<double> LatencyWindow::percentile(double p) {
  if (buckets_.count() > 0) return buckets_.percentile(p);
  if (exact_.empty()) return std::nullopt;
  const double rank = p / 100 * static_cast<double>(exact_.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(rank), exact_.size() - 1);
  const auto low = exact_.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(exact_.begin(), low, exact_.end());
  const auto value = static_cast<double>(*low);
  if (below + 1 == exact_.size()) return value;
  const auto above = static_cast<double>(*std::min_element(low + 1, exact_.end()));
  return value + (rank - static_cast<double>(below)) * (above - value);
}

}  // namespace headroom
