#include "sim/memory/memory_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;
constexpr std::size_t kMinWindows = 12;  // ours: with fewer, noise alone rises in half of them
constexpr std::size_t kMaxWindows = 48;
constexpr std::size_t kSamplesPerWindow = 4;
constexpr double kStepSpread =
    6;                            // ours: steps stand out of the other rises by 6 median deviations
constexpr double kSteady = 0.25;  // ours: share of the slope that both halves must show

using Points = std::vector<SeriesPoint>;

// The upper of two middle values; `values` is not empty.
double upper_median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

bool is_busy(const MemorySample& sample) { return sample.running && *sample.running > 0; }
bool is_idle(const MemorySample& sample) { return sample.running && *sample.running == 0; }

SeriesPoint point_of(const MemorySample& sample) { return {sample.time_s, sample.used_gib}; }

bool is_lower(const SeriesPoint& a, const SeriesPoint& b) { return a.gib < b.gib; }

// The floor of a recording, in windows of equal numbers of samples.
struct Floor {
  std::size_t windows = 0;
  Points points;  // least of a window, where no later window goes lower
};

Floor floor_of(const Points& samples) {
  Floor floor;
  floor.windows = std::min(kMaxWindows, samples.size() / kSamplesPerWindow);
  Points least;
  for (std::size_t i = 0; i < floor.windows; ++i) {
    const auto at = [&](std::size_t window) {
      return samples.begin() + static_cast<std::ptrdiff_t>(window * samples.size() / floor.windows);
    };
    least.push_back(*std::min_element(at(i), at(i + 1), is_lower));
  }
  for (std::size_t i = least.size(); i-- > 0;) {
    const SeriesPoint& at = least[i];
    if (floor.points.empty() || at.gib <= floor.points.back().gib) floor.points.push_back(at);
  }
  std::ranges::reverse(floor.points);
  return floor;
}

// When the level shifts between two points of the floor: behind the last sample below the middle.
double step_time(const Points& samples, const SeriesPoint& from, const SeriesPoint& to) {
  const double middle = from.gib + (to.gib - from.gib) / 2;
  double time_s = to.time_s;
  for (std::size_t i = samples.size(); i-- > 0;) {
    const SeriesPoint& sample = samples[i];
    if (sample.time_s > to.time_s) continue;
    if (sample.gib < middle) break;
    time_s = sample.time_s;
  }
  return time_s;
}

// Level shifts of the floor, taken out of `points`.
std::vector<SeriesStep> take_out_steps(const Points& samples, const SeriesOptions& options,
                                       Points& points) {
  if (points.size() < 2) return {};
  std::vector<double> slopes;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double duration_s = points[i].time_s - points[i - 1].time_s;
    if (duration_s > 0) slopes.push_back((points[i].gib - points[i - 1].gib) / duration_s);
  }
  const double usual = slopes.empty() ? 0 : upper_median_of(slopes);
  std::vector<double> excess;
  excess.reserve(points.size());
  for (std::size_t i = 1; i < points.size(); ++i) {
    excess.push_back(points[i].gib - points[i - 1].gib -
                     usual * (points[i].time_s - points[i - 1].time_s));
  }
  std::vector<double> deviations;
  deviations.reserve(excess.size());
  for (const double value : excess) deviations.push_back(value < 0 ? -value : value);
  const double limit = std::max(options.min_step_gib, kStepSpread * upper_median_of(deviations));

  std::vector<SeriesStep> steps;
  const Points raw = points;
  double removed = 0;
  bool before = false;  // a step that takes more than one window is one step
  for (std::size_t i = 1; i < raw.size(); ++i) {
    const double rise = excess[i - 1];
    const bool is_step = rise > limit;
    if (is_step && before) {
      steps.back().size_gib += rise;
    } else if (is_step) {
      steps.push_back({step_time(samples, raw[i - 1], raw[i]), rise});
    }
    if (is_step) removed += rise;
    before = is_step;
    points[i].gib -= removed;
  }
  return steps;
}

class SeriesAnalysis {
 public:
  SeriesAnalysis(const MemorySeries& series, const SeriesOptions& options)
      : samples_(series.samples), options_(options) {
    HEADROOM_CHECK(!samples_.empty(), "a series without samples");
    report_.samples = static_cast<std::int64_t>(samples_.size());
    report_.duration_s = samples_.back().time_s - samples_.front().time_s;
    report_.capacity_gib = options.capacity_gib ? options.capacity_gib : series.capacity_gib;
    const auto busy = std::ranges::find_if(samples_, is_busy);
    first_busy_ = static_cast<std::size_t>(busy - samples_.begin());
    const auto last = std::find_if(samples_.rbegin(), samples_.rend(), is_busy);
    after_busy_ = static_cast<std::size_t>(last.base() - samples_.begin());
  }

  SeriesReport run() {
    find_levels();
    find_leak();
    find_return();
    memory_alerts();
    request_alerts();
    context_alerts();
    std::ranges::stable_sort(report_.alerts, [](const SeriesAlert& a, const SeriesAlert& b) {
      return a.time_s != b.time_s ? a.time_s < b.time_s : a.kind < b.kind;
    });
    return std::move(report_);
  }

 private:
  [[nodiscard]] bool was_busy() const { return first_busy_ < samples_.size(); }
  [[nodiscard]] std::size_t edge() const { return std::max<std::size_t>(1, samples_.size() / 20); }

  // Median of the samples without a request in [from, to); absent when there is none.
  [[nodiscard]] std::optional<SeriesPoint> idle_level(std::size_t from, std::size_t to) const {
    std::vector<double> idle;
    std::optional<double> time_s;
    for (std::size_t i = from; i < to; ++i) {
      if (!is_idle(samples_[i])) continue;
      if (!time_s) time_s = samples_[i].time_s;
      idle.push_back(samples_[i].used_gib);
    }
    if (idle.empty()) return std::nullopt;
    return SeriesPoint{*time_s, upper_median_of(std::move(idle))};
  }

  [[nodiscard]] SeriesPoint least(std::size_t from, std::size_t to) const {
    SeriesPoint point = point_of(samples_[from]);
    for (std::size_t i = from; i < to; ++i) {
      if (samples_[i].used_gib < point.gib) point = point_of(samples_[i]);
    }
    return point;
  }

  void find_levels() {
    const std::optional<SeriesPoint> idle = was_busy() ? idle_level(0, first_busy_) : std::nullopt;
    report_.baseline = idle ? *idle : least(0, edge());
    for (const MemorySample& sample : samples_) {
      if (sample.used_gib > report_.peak.gib || &sample == &samples_.front()) {
        report_.peak = point_of(sample);
      }
    }
  }

  void find_leak() {
    Points idle;
    Points all;
    for (const MemorySample& sample : samples_) {
      all.push_back(point_of(sample));
      if (is_idle(sample)) idle.push_back(point_of(sample));
    }
    // Idle samples tell more, where they are enough to see the whole recording.
    const bool use_idle = idle.size() >= kMinWindows * kSamplesPerWindow &&
                          idle.back().time_s - idle.front().time_s >= report_.duration_s / 2;
    const Points& samples = use_idle ? idle : all;
    Floor floor = floor_of(samples);
    if (floor.windows < kMinWindows || report_.duration_s <= 0) {
      report_.notes.push_back(
          fmt::format("{} samples: too few to detect a leak or a step ({} needed)", samples.size(),
                      kMinWindows * kSamplesPerWindow));
      return;
    }
    const double level_gib = floor.points.back().gib;
    report_.steps = take_out_steps(samples, options_, floor.points);
    judge_rise(floor, use_idle, level_gib);
  }

  void judge_rise(const Floor& floor, bool idle, double level_gib) {
    if (2 * floor.points.size() < floor.windows) return;
    const double middle_s = samples_.front().time_s + report_.duration_s / 2;
    Points first;
    Points second;
    for (const SeriesPoint& point : floor.points) {
      (point.time_s < middle_s ? first : second).push_back(point);
    }
    const double slope = theil_sen_slope(floor.points).value_or(0);
    const double steady = kSteady * slope;
    if (slope * report_.duration_s < options_.min_rise_gib || slope <= 0 ||
        theil_sen_slope(first).value_or(0) < steady ||
        theil_sen_slope(second).value_or(0) < steady) {
      return;
    }
    SeriesLeak leak{.gib_per_s = slope,
                    .bytes_per_hour = slope * 3600 * kBytesPerGib,
                    .rise_gib = slope * report_.duration_s,
                    .idle = idle,
                    .full_at_s = std::nullopt};
    if (report_.capacity_gib) {
      const double left_gib = *report_.capacity_gib - level_gib;
      leak.full_at_s = floor.points.back().time_s + std::max(0.0, left_gib) / slope;
    }
    report_.leak = leak;
  }

  void find_return() {
    if (was_busy()) {
      const std::optional<SeriesPoint> after = idle_level(after_busy_, samples_.size());
      if (after) {
        report_.after_load = SeriesReturn{report_.baseline, *after};
      } else {
        report_.notes.emplace_back("the recording ends under load: no return to the baseline");
      }
      return;
    }
    const double load_gib = report_.peak.gib - report_.baseline.gib;
    if (load_gib < options_.min_rise_gib) return;
    const SeriesPoint after = least(samples_.size() - edge(), samples_.size());
    if (after.gib - report_.baseline.gib <= load_gib / 2) {
      report_.after_load = SeriesReturn{report_.baseline, after};
    } else {
      report_.notes.emplace_back(
          "memory stays near its peak to the end; without a column of running requests this can be "
          "load or a leak");
    }
  }

  using Value = std::function<std::optional<double>(std::size_t)>;

  // One alert for each unbroken run of samples above `limit`; a sample without value ends it.
  void add_alerts(SeriesAlertKind kind, double limit, bool at_limit, const Value& value_of) {
    bool open = false;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const std::optional<double> value = value_of(i);
      const bool above = value && (at_limit ? *value >= limit : *value > limit);
      if (above && !open) {
        report_.alerts.push_back({.kind = kind,
                                  .time_s = samples_[i].time_s,
                                  .until_s = samples_[i].time_s,
                                  .value = *value,
                                  .worst = *value,
                                  .limit = limit});
      } else if (above) {
        report_.alerts.back().until_s = samples_[i].time_s;
        report_.alerts.back().worst = std::max(report_.alerts.back().worst, *value);
      }
      open = above;
    }
  }

  void memory_alerts() {
    const Value used = [&](std::size_t i) { return std::optional(samples_[i].used_gib); };
    if (report_.capacity_gib) {
      const double capacity = *report_.capacity_gib;
      add_alerts(SeriesAlertKind::memory_warning, options_.warning_share * capacity, true, used);
      add_alerts(SeriesAlertKind::memory_critical, options_.critical_share * capacity, true, used);
    } else {
      report_.notes.emplace_back("capacity unknown: no alert on the share of memory in use");
    }
    add_alerts(SeriesAlertKind::fragmentation, options_.fragmentation_gib, false,
               [&](std::size_t i) -> std::optional<double> {
                 const MemorySample& sample = samples_[i];
                 if (!sample.reserved_gib || !sample.allocated_gib) return std::nullopt;
                 return *sample.reserved_gib - *sample.allocated_gib;
               });
  }

  void request_alerts() {
    if (!options_.max_concurrency) return;
    add_alerts(SeriesAlertKind::in_flight, options_.in_flight_share * *options_.max_concurrency,
               false, [&](std::size_t i) { return samples_[i].running; });
  }

  void context_alerts() {
    const auto has_context = [](const MemorySample& sample) {
      return sample.max_context.has_value();
    };
    if (std::ranges::none_of(samples_, has_context)) return;
    if (report_.duration_s < options_.context_window_s) {
      report_.notes.push_back(
          fmt::format("shorter than {} s: no alert on long contexts", options_.context_window_s));
      return;
    }
    const std::vector<std::optional<double>> largest = trailing_maximum();
    double sum = 0;
    double count = 0;
    for (const std::optional<double>& value : largest) {
      if (!value) continue;
      sum += *value;
      ++count;
    }
    add_alerts(SeriesAlertKind::context_spike, options_.context_factor * sum / count, false,
               [&](std::size_t i) { return largest[i]; });
  }

  // Largest context of the window that ends with each sample.
  [[nodiscard]] std::vector<std::optional<double>> trailing_maximum() const {
    std::vector<std::optional<double>> largest;
    std::deque<std::size_t> falling;  // candidates, their contexts in falling order
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (const std::optional<double> context = samples_[i].max_context) {
        while (!falling.empty() && *samples_[falling.back()].max_context <= *context) {
          falling.pop_back();
        }
        falling.push_back(i);
      }
      const double from_s = samples_[i].time_s - options_.context_window_s;
      while (!falling.empty() && samples_[falling.front()].time_s <= from_s) falling.pop_front();
      largest.push_back(falling.empty() ? std::nullopt : samples_[falling.front()].max_context);
    }
    return largest;
  }

  const std::vector<MemorySample>& samples_;
  const SeriesOptions& options_;
  SeriesReport report_;
  std::size_t first_busy_ = 0;  // samples_.size() when none is
  std::size_t after_busy_ = 0;
};

}  // namespace

std::string_view name_of(SeriesAlertKind kind) {
  constexpr std::array<std::string_view, 5> kAlerts{
      "memory warning", "memory critical", "fragmentation", "requests in flight", "context spike"};
  return kAlerts[static_cast<std::size_t>(kind)];
}

std::optional<double> theil_sen_slope(const std::vector<SeriesPoint>& points) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      const double duration_s = points[j].time_s - points[i].time_s;
      if (duration_s > 0) slopes.push_back((points[j].gib - points[i].gib) / duration_s);
    }
  }
  if (slopes.empty()) return std::nullopt;
  return upper_median_of(std::move(slopes));
}

SeriesReport report_memory_series(const MemorySeries& series, const SeriesOptions& options) {
  return SeriesAnalysis(series, options).run();
}

}  // namespace headroom
