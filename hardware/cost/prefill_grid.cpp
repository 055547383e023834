#include "hardware/cost/prefill_grid.hpp"

#include <algorithm>

#include "hardware/cost/count_grid.hpp"
#include "hardware/cost/ticks.hpp"

namespace headroom {
namespace {

std::vector<double> axis_to(std::int64_t last, std::int64_t parts) {
  std::vector<double> axis;
  for (const std::int64_t point : grid_to(std::max<std::int64_t>(2, last), parts)) {
    axis.push_back(real(point));
  }
  return axis;
}

}  // namespace

PrefillGrid::PrefillGrid(std::int64_t most_chunks, std::int64_t most_tokens,
                         std::int64_t most_prefix)
    : chunks_(axis_to(most_chunks, 1)), tokens_(axis_to(most_tokens, 4)) {
  // Below one step of a kernel a prefix is as good as none.
  constexpr double kShortest = 64;
  prefix_ = axis_to(std::max<std::int64_t>(128, most_prefix), 2);
  std::erase_if(prefix_, [](double tokens) { return tokens < kShortest; });
  prefix_.insert(prefix_.begin(), 0);
  known_ = std::make_unique<std::atomic<Ticks>[]>(chunks_.size() * tokens_.size() * prefix_.size());
}

PrefillGrid::Place PrefillGrid::place(const std::vector<double>& axis, double at) {
  const auto above = std::upper_bound(axis.begin() + 1, axis.end() - 1, at);
  const auto low = static_cast<std::size_t>(above - axis.begin()) - 1;
  return {low, std::max(0.0, (at - axis[low]) / (axis[low + 1] - axis[low]))};
}

double PrefillGrid::point(const LayerKernels& kernels, std::size_t chunks, std::size_t tokens,
                          std::size_t prefix) const {
  std::atomic<Ticks>& slot = known_[(chunks * tokens_.size() + tokens) * prefix_.size() + prefix];
  Ticks known = slot.load(std::memory_order_relaxed);
  if (known == 0) {
    // Who else asks meanwhile gets the same.
    const KernelTime time = kernels.prefill(chunks_[chunks], tokens_[tokens], prefix_[prefix]);
    known = 1 + ticks_from_ns(time.us * 1e3);
    slot.store(known, std::memory_order_relaxed);
  }
  return real(known - 1);
}

Ticks PrefillGrid::at(const LayerKernels& kernels, double chunks, double tokens,
                      double prefix) const {
  const Place c = place(chunks_, chunks);
  const Place t = place(tokens_, tokens);
  const Place p = place(prefix_, prefix);
  // What lies at a point itself does not ask for the next one.
  const auto along = [](double share, auto value) {
    const double low = value(0);
    return share == 0 ? low : low + share * (value(1) - low);
  };
  const double ticks = along(c.share, [&](std::size_t dc) {
    return along(t.share, [&](std::size_t dt) {
      return along(p.share, [&](std::size_t dp) {
        return point(kernels, c.low + dc, t.low + dt, p.low + dp);
      });
    });
  });
  return ticks_from_ns(std::max(0.0, ticks) / static_cast<double>(kTicksPerNs));
}

}  // namespace headroom
