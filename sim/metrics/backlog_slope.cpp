#include "sim/metrics/backlog_slope.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "sim/kernel/time.hpp"

namespace headroom {
namespace {

constexpr std::size_t kBatches = 20;
constexpr double kStudent = 2.101;  // 97.5 % of Student's t with 18 degrees of freedom
constexpr double kMostCorrelation = 0.9;

// Integrals of the number in system over equal batches, O(1) per record.
class BatchIntegrals {
 public:
  BatchIntegrals(TimeNs start_ns, TimeNs batch_ns) : start_ns_(start_ns), batch_ns_(batch_ns) {}

  void add(const RequestRecord& record) {
    const TimeNs end_ns = batch_ns_ * static_cast<TimeNs>(kBatches);
    const TimeNs from = std::max<TimeNs>(record.arrival_ns - start_ns_, 0);
    const TimeNs to =
        record.finish_ns < 0 ? end_ns : std::min(record.finish_ns - start_ns_, end_ns);
    if (to <= from) return;
    const auto first = static_cast<std::size_t>(from / batch_ns_);
    const auto last = static_cast<std::size_t>((to - 1) / batch_ns_);
    if (first == last) {
      partial_[first] += to - from;
      return;
    }
    partial_[first] += static_cast<TimeNs>(first + 1) * batch_ns_ - from;
    partial_[last] += to - static_cast<TimeNs>(last) * batch_ns_;
    ++change_[first + 1];  // there for all of the batches first + 1 .. last - 1
    --change_[last];
  }

  [[nodiscard]] std::array<double, kBatches> means() const {
    std::array<double, kBatches> means{};
    std::int64_t whole = 0;
    for (std::size_t b = 0; b < kBatches; ++b) {
      whole += change_[b];
      const Int128 integral = partial_[b] + static_cast<Int128>(whole) * batch_ns_;
      means[b] = static_cast<double>(integral) / static_cast<double>(batch_ns_);
    }
    return means;
  }

 private:
  TimeNs start_ns_;
  TimeNs batch_ns_;
  std::array<Int128, kBatches> partial_{};
  std::array<std::int64_t, kBatches + 1> change_{};
};

}  // namespace

std::optional<BacklogSlope> backlog_slope(std::span<const RequestRecord> records,
                                          const WindowReport& window) {
  const TimeNs batch_ns = (window.end_ns - window.start_ns) / static_cast<TimeNs>(kBatches);
  if (batch_ns <= 0) return std::nullopt;
  BatchIntegrals integrals(window.start_ns, batch_ns);
  for (const RequestRecord& record : records) integrals.add(record);
  const std::array<double, kBatches> means = integrals.means();

  const double batch_s = static_cast<double>(batch_ns) * 1e-9;
  constexpr double kCentre = (static_cast<double>(kBatches) - 1) / 2;
  double mean = 0;
  for (const double value : means) mean += value / static_cast<double>(kBatches);
  double spread = 0;  // of the times, s^2
  double together = 0;
  for (std::size_t b = 0; b < kBatches; ++b) {
    const double t = (static_cast<double>(b) - kCentre) * batch_s;
    spread += t * t;
    together += t * (means[b] - mean);
  }
  const double slope = together / spread;
  double squares = 0;
  double neighbours = 0;
  double before = 0;
  for (std::size_t b = 0; b < kBatches; ++b) {
    const double t = (static_cast<double>(b) - kCentre) * batch_s;
    const double left = means[b] - mean - slope * t;
    squares += left * left;
    neighbours += left * before;
    before = left;
  }
  const double correlation =
      squares > 0 ? std::clamp(neighbours / squares, 0.0, kMostCorrelation) : 0.0;
  const double variance = squares / (static_cast<double>(kBatches) - 2) / spread *
                          (1 + correlation) / (1 - correlation);
  const double half = kStudent * std::sqrt(variance);
  return BacklogSlope{slope, slope - half, slope + half};
}

}  // namespace headroom
