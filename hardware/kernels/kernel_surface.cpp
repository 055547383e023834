#include "hardware/kernels/kernel_surface.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "hardware/kernels/kernel_words.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/det_math.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

// scripts/kernel_surfaces.py: two characters of 89 stand for 0.1 us * exp(level / 400).
constexpr int kFirstCharacter = 37;
constexpr int kBase = 89;
constexpr double kStepsPerE = 400;
constexpr double kLowestUs = 0.1;
constexpr std::size_t kMaxAxes = 4;
constexpr std::size_t kMaxPoints = 1U << 20U;  // of one grid

Fit worse(Fit a, Fit b) { return std::max(a, b); }

// Of a part of a key, to compare shapes: its logarithm if it is a size (0: no limit).
double comparable(std::int64_t part, double weight) {
  constexpr double kNoLimit = 1e6;
  const auto value = static_cast<double>(part);
  if (weight < 0) return value;
  return det::log(part > 0 ? value : kNoLimit);
}

}  // namespace

// Goes through the lines of one section.
class KernelSurfaceReader {
 public:
  KernelSurfaceReader(KernelSurface& surface, std::string_view text, const std::string& origin,
                      std::int64_t line)
      : surface_(surface), text_(text), origin_(origin), line_(line) {}

  void read() {
    next_line();  // class
    while (!text_.empty()) {
      const std::string_view line = next_line();
      if (line.starts_with("axis ") && surface_.grids_.empty()) {
        read_axis(line.substr(5));
      } else if (line.starts_with("grid ")) {
        read_grid(line.substr(5));
      } else {
        fail("expected an axis or a grid");
      }
    }
    if (surface_.grids_.empty()) fail("no grid in this section");
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw DataError(origin_ + ":" + std::to_string(line_) + ": " + problem + "; read " +
                    std::to_string(surface_.grids_.size()) + " grids of this section before");
  }

  std::string_view next_line() {
    const std::size_t end = text_.find('\n');
    const std::string_view line = text_.substr(0, end);
    text_ = end == std::string_view::npos ? std::string_view() : text_.substr(end + 1);
    ++line_;
    return line;
  }

  void read_axis(std::string_view rest) {
    if (surface_.axes_.size() == kMaxAxes) fail("too many axes");
    next_word(rest);  // its name
    KernelSurface::Axis axis;
    while (!rest.empty()) {
      const std::string_view word = next_word(rest);
      double value = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (error != std::errc() || end != word.data() + word.size()) fail("an axis of numbers");
      if (value < 0 || (!axis.values.empty() && value <= axis.values.back())) {
        fail("an axis must ascend from 0 or more");
      }
      axis.from_zero = axis.from_zero || value == 0;
      axis.values.push_back(value);
    }
    if (axis.values.empty()) fail("an axis without points");
    for (const double value : axis.values) {
      axis.coordinates.push_back(det::log(axis.from_zero ? value + 1 : value));
    }
    surface_.axes_.push_back(std::move(axis));
  }

  void read_grid(std::string_view rest) {
    KernelSurface::Grid grid;
    while (!rest.empty()) {
      const std::string_view word = next_word(rest);
      const std::optional<std::int64_t> part = kernel_word(word);
      if (!part) fail("unknown word \"" + std::string(word) + "\" in a key");
      grid.key.push_back(*part);
    }
    if (grid.key.size() != surface_.weights_.size()) fail("a key of the wrong length");
    std::size_t points = surface_.axes_.empty() ? 0 : 1;
    for (const auto& axis : surface_.axes_) points *= axis.values.size();
    if (points == 0 || points > kMaxPoints) fail("a grid without axes, or with too many points");
    grid.log_ratio.resize(points);
    grid.fit.assign(points, Fit::extrapolated);
    const std::size_t row = surface_.axes_.back().values.size();
    for (std::size_t first = 0; first < points; first += row) read_row(grid, first, row);
    const auto known = std::count(grid.fit.begin(), grid.fit.end(), Fit::measured);
    if (known == 0) fail("a grid without a point");
    surface_.measured_points_ += known;
    surface_.fill(grid);
    surface_.grids_.push_back(std::move(grid));
  }

  void read_row(KernelSurface::Grid& grid, std::size_t first, std::size_t size) {
    if (text_.empty()) fail("the file ends within a grid");
    const std::string_view codes = next_line();
    if (codes.size() % 2 != 0 || codes.size() / 2 > size) fail("a line of the wrong length");
    std::array<double, kMaxAxes> point{};
    const std::size_t axes = surface_.axes_.size();
    std::size_t index = first;
    for (std::size_t a = axes; a-- > 0;) {
      const auto& values = surface_.axes_[a].values;
      point.at(a) = values[index % values.size()];
      index /= values.size();
    }
    for (std::size_t i = 0; i < codes.size() / 2; ++i) {
      const std::string_view code = codes.substr(2 * i, 2);
      if (code == "~~") continue;
      point.at(axes - 1) = surface_.axes_.back().values[i];
      const double ideal =
          surface_.ideal_(surface_.peaks_, grid.key, KernelPoint(point.data(), axes));
      grid.log_ratio[first + i] = log_us(code) - det::log(ideal);
      grid.fit[first + i] = Fit::measured;
    }
  }

  [[nodiscard]] double log_us(std::string_view code) const {
    const int high = code[0] - kFirstCharacter;
    const int low = code[1] - kFirstCharacter;
    if (high < 0 || high >= kBase || low < 0 || low >= kBase) fail("a character that is no code");
    static const double log_lowest = det::log(kLowestUs);
    return log_lowest + (high * kBase + low) / kStepsPerE;
  }

  KernelSurface& surface_;
  std::string_view text_;
  const std::string& origin_;
  std::int64_t line_;  // of the last line read
};

KernelSurface::KernelSurface(std::string_view section, const std::string& origin,
                             std::int64_t first_line, IdealTime ideal, const DevicePeaks& peaks,
                             std::span<const double> weights)
    : ideal_(ideal), peaks_(peaks), weights_(weights.begin(), weights.end()) {
  KernelSurfaceReader(*this, section, origin, first_line - 1).read();
  sort_grids();
}

void KernelSurface::sort_grids() {
  for (Grid& grid : grids_) {
    for (std::size_t i = 0; i < grid.key.size(); ++i) {
      grid.comparable.push_back(comparable(grid.key[i], weights_[i]));
    }
  }
  by_key_.resize(grids_.size());
  std::iota(by_key_.begin(), by_key_.end(), std::size_t{0});
  std::stable_sort(by_key_.begin(), by_key_.end(),
                   [this](std::size_t a, std::size_t b) { return grids_[a].key < grids_[b].key; });
}

// Line by line along every axis, the last one first: what a line lacks it takes from its own
// points, and lines without any are filled along the axis before.
void KernelSurface::fill(Grid& grid) const {
  std::vector<bool> has_ratio(grid.fit.size());
  for (std::size_t i = 0; i < grid.fit.size(); ++i) has_ratio[i] = grid.fit[i] == Fit::measured;
  std::size_t stride = 1;
  for (std::size_t a = axes_.size(); a-- > 0;) {
    const std::size_t count = axes_[a].values.size();
    for (std::size_t block = 0; block < grid.fit.size(); block += stride * count) {
      for (std::size_t offset = 0; offset < stride; ++offset) {
        fill_line(grid, has_ratio, axes_[a], block + offset, stride);
      }
    }
    stride *= count;
  }
}

void KernelSurface::fill_line(Grid& grid, std::vector<bool>& has_ratio, const Axis& axis,
                              std::size_t first, std::size_t stride) {
  const std::size_t count = axis.values.size();
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < count; ++i) {
    if (has_ratio[first + i * stride]) known.push_back(i);
  }
  if (known.empty() || known.size() == count) return;
  const auto ratio = [&](std::size_t i) -> double& { return grid.log_ratio[first + i * stride]; };
  const auto fit = [&](std::size_t i) -> Fit& { return grid.fit[first + i * stride]; };
  for (std::size_t i = 0; i < known.front(); ++i) ratio(i) = ratio(known.front());
  for (std::size_t i = known.back() + 1; i < count; ++i) ratio(i) = ratio(known.back());
  for (std::size_t k = 1; k < known.size(); ++k) {
    const std::size_t low = known[k - 1];
    const std::size_t high = known[k];
    const double width = axis.coordinates[high] - axis.coordinates[low];
    for (std::size_t i = low + 1; i < high; ++i) {
      const double share = (axis.coordinates[i] - axis.coordinates[low]) / width;
      ratio(i) = ratio(low) + share * (ratio(high) - ratio(low));
      fit(i) = worse(Fit::interpolated, worse(fit(low), fit(high)));
    }
  }
  for (std::size_t i = 0; i < count; ++i) has_ratio[first + i * stride] = true;
}

const KernelSurface::Grid* KernelSurface::find(KernelKey key) const {
  const auto before = [](std::span<const std::int64_t> a, KernelKey b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  };
  const auto found =
      std::lower_bound(by_key_.begin(), by_key_.end(), key,
                       [&](std::size_t i, KernelKey k) { return before(grids_[i].key, k); });
  if (found == by_key_.end()) return nullptr;
  const Grid& grid = grids_[*found];
  return std::equal(grid.key.begin(), grid.key.end(), key.begin(), key.end()) ? &grid : nullptr;
}

bool KernelSurface::has(KernelKey key) const { return find(key) != nullptr; }

bool KernelSurface::has_line(KernelKey key, KernelPoint first_axes) const {
  const Grid* grid = find(key);
  if (grid == nullptr) return false;
  std::size_t row = 0;
  std::size_t size = 1;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (a >= first_axes.size()) {
      size *= axes_[a].values.size();
      continue;
    }
    const auto& values = axes_[a].values;
    const auto found = std::find(values.begin(), values.end(), first_axes[a]);
    if (found == values.end()) return false;
    row = row * values.size() + static_cast<std::size_t>(found - values.begin());
  }
  const auto first = grid->fit.begin() + static_cast<std::ptrdiff_t>(row * size);
  return std::find(first, first + static_cast<std::ptrdiff_t>(size), Fit::measured) !=
         first + static_cast<std::ptrdiff_t>(size);
}

const KernelSurface::Grid& KernelSurface::nearest_grid(KernelKey key) const {
  if (const Grid* grid = find(key)) return *grid;
  std::array<double, 16> wanted{};
  HEADROOM_CHECK(key.size() >= weights_.size() && weights_.size() <= wanted.size(),
                 "key of a kernel");
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    wanted.at(i) = comparable(key[i], weights_[i]);
  }
  const Grid* best = nullptr;
  double least = 0;
  for (const Grid& grid : grids_) {
    double distance = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const double off = grid.comparable[i] - wanted.at(i);
      if (weights_[i] >= 0) {
        distance += weights_[i] * (off < 0 ? -off : off);
      } else if (off != 0) {
        distance -= weights_[i];
      }
    }
    if (best == nullptr || distance < least) {
      best = &grid;
      least = distance;
    }
  }
  return *best;
}

KernelKey KernelSurface::nearest(KernelKey key) const { return nearest_grid(key).key; }

KernelSurface::Place KernelSurface::place(const Axis& axis, double value) {
  const auto& values = axis.values;
  if (value <= values.front()) return {.outside = value < values.front()};
  if (value >= values.back()) {
    return {.low = values.size() - 1, .outside = value > values.back()};
  }
  const auto above = std::upper_bound(values.begin(), values.end(), value);
  const auto low = static_cast<std::size_t>(above - values.begin()) - 1;
  if (values[low] == value) return {.low = low};
  const double coordinate = det::log(axis.from_zero ? value + 1 : value);
  const double width = axis.coordinates[low + 1] - axis.coordinates[low];
  return {.low = low, .share = (coordinate - axis.coordinates[low]) / width};
}

LogRatio KernelSurface::at(const Grid& grid, KernelPoint point) const {
  std::array<Place, kMaxAxes> places;
  LogRatio result;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    places.at(a) = place(axes_[a], point[a]);
    if (places.at(a).outside) result.fit = Fit::extrapolated;
    if (places.at(a).share > 0) result.fit = worse(result.fit, Fit::interpolated);
  }
  const std::size_t corners = std::size_t{1} << axes_.size();
  for (std::size_t corner = 0; corner < corners; ++corner) {
    double weight = 1;
    std::size_t index = 0;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const std::size_t up = (corner >> a) & 1U;
      weight *= up != 0 ? places.at(a).share : 1 - places.at(a).share;
      index = index * axes_[a].values.size() + places.at(a).low + up;
      if (weight == 0) break;
    }
    if (weight == 0) continue;
    result.value += weight * grid.log_ratio[index];
    result.fit = worse(result.fit, grid.fit[index]);
  }
  return result;
}

LogRatio KernelSurface::at(KernelKey key, KernelPoint point) const {
  const KernelKey wanted = key.first(weights_.size());
  const Grid& grid = nearest_grid(wanted);
  LogRatio ratio = at(grid, point);
  if (!std::equal(grid.key.begin(), grid.key.end(), wanted.begin(), wanted.end())) {
    ratio.fit = Fit::extrapolated;
  }
  return ratio;
}

KernelTime KernelSurface::time(const DevicePeaks& peaks, KernelKey key, KernelPoint point) const {
  return time(peaks, key, point, at(key, point));
}

KernelTime KernelSurface::time(const DevicePeaks& peaks, KernelKey key, KernelPoint point,
                               const LogRatio& ratio) const {
  return {det::exp(ratio.value) * ideal_(peaks, key, point), ratio.fit};
}

}  // namespace headroom
