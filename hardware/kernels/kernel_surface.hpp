#pragma once
// Measured times of one class of kernels: grids of the same axes, one for every shape.
//
// A grid holds the logarithm of measured over ideal time. Points that were not measured are filled
// when it is read: between two points of a line by interpolation, beyond the last one with the
// ratio of the last one, so that time goes on with bytes and operations.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/kernels/ideal_time.hpp"
#include "hardware/kernels/kernel_library.hpp"

namespace headroom {

// Logarithm of measured over ideal time at a point.
struct LogRatio {
  double value = 0;
  Fit fit = Fit::measured;
};

class KernelSurface {
 public:
  // One section of a file, its "class" line included. `weights` says per part of a key how much a
  // factor of e in it makes two shapes differ (a size of 0 means no limit). Negative: the part is
  // not a size, and differing costs that much. DataError naming `origin` and the line: anything
  // that the format of scripts/kernel_surfaces.py does not allow.
  KernelSurface(std::string_view section, const std::string& origin, std::int64_t first_line,
                IdealTime ideal, const DevicePeaks& peaks, std::span<const double> weights);

  // Whether the shape itself is in the table.
  [[nodiscard]] bool has(KernelKey key) const;
  // Whether at least one of its points at these values of the first axes was measured.
  [[nodiscard]] bool has_line(KernelKey key, KernelPoint first_axes) const;
  // The shape of the table closest to `key`: itself, or the least sum of weighted differences,
  // the first in the file's order of equals.
  [[nodiscard]] KernelKey nearest(KernelKey key) const;
  // Of the nearest shape; extrapolated if that is not `key` itself.
  [[nodiscard]] LogRatio at(KernelKey key, KernelPoint point) const;
  // Microseconds on a device with `peaks`. `key` may go on behind what names a grid, with sizes
  // that the ideal time takes into account.
  [[nodiscard]] KernelTime time(const DevicePeaks& peaks, KernelKey key, KernelPoint point) const;
  // The same with a ratio from elsewhere.
  [[nodiscard]] KernelTime time(const DevicePeaks& peaks, KernelKey key, KernelPoint point,
                                const LogRatio& ratio) const;

  [[nodiscard]] std::int64_t measured_points() const { return measured_points_; }

 private:
  friend class KernelSurfaceReader;

  struct Axis {
    std::vector<double> values;       // ascending
    std::vector<double> coordinates;  // their logarithms; of 1 + value where the first is 0
    bool from_zero = false;
  };
  struct Grid {
    std::vector<std::int64_t> key;
    std::vector<double> comparable;  // of the key's parts: logarithms of sizes
    std::vector<double> log_ratio;
    std::vector<Fit> fit;
  };
  struct Place {
    std::size_t low = 0;
    double share = 0;  // of the way to the next
    bool outside = false;
  };

  [[nodiscard]] const Grid* find(KernelKey key) const;
  [[nodiscard]] const Grid& nearest_grid(KernelKey key) const;
  [[nodiscard]] LogRatio at(const Grid& grid, KernelPoint point) const;
  [[nodiscard]] static Place place(const Axis& axis, double value);
  void fill(Grid& grid) const;
  // `has_ratio` per point of the grid: measured, or filled by an earlier line.
  static void fill_line(Grid& grid, std::vector<bool>& has_ratio, const Axis& axis,
                        std::size_t first, std::size_t stride);
  void sort_grids();

  IdealTime ideal_;
  DevicePeaks peaks_;
  std::vector<double> weights_;
  std::vector<Axis> axes_;
  std::vector<Grid> grids_;          // in the file's order
  std::vector<std::size_t> by_key_;  // indices of grids_, ascending keys
  std::int64_t measured_points_ = 0;
};

}  // namespace headroom
