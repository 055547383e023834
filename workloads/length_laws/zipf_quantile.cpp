#include "workloads/length_laws/zipf_quantile.hpp"

#include <algorithm>
#include <bit>

#include "sim/kernel/det_math.hpp"

namespace headroom {
namespace {

constexpr std::size_t kMaxGuideCells = 65'536;

}  // namespace

ZipfQuantile::ZipfQuantile(std::int32_t min, std::int32_t max, double exponent) : min_(min) {
  const auto lengths = static_cast<std::size_t>(max - min) + 1;
  cumulative_.reserve(lengths);
  double sum = 0.0;
  for (std::int64_t tokens = min; tokens <= max; ++tokens) {
    sum += det::pow(static_cast<double>(tokens) / min, -exponent);
    cumulative_.push_back(sum);
  }
  cells_ = std::bit_ceil(std::min(lengths, kMaxGuideCells));
  guide_.reserve(cells_ + 1);
  std::size_t entry = 0;
  for (std::size_t cell = 0; cell <= cells_; ++cell) {
    const double place = static_cast<double>(cell) / static_cast<double>(cells_) * sum;
    while (entry + 1 < lengths && cumulative_[entry] <= place) ++entry;
    guide_.push_back(static_cast<std::uint32_t>(entry));
  }
}

std::int32_t ZipfQuantile::operator()(double probability) const {
  const double place = probability * cumulative_.back();
  const auto cell = static_cast<std::size_t>(probability * static_cast<double>(cells_));
  const auto first = cumulative_.begin() + guide_[cell];
  const auto last = cumulative_.begin() + guide_[cell + 1];
  return min_ +
         static_cast<std::int32_t>(std::upper_bound(first, last, place) - cumulative_.begin());
}

}  // namespace headroom
