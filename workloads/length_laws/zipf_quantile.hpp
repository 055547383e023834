#pragma once
// The quantile function of Zipf's law on min .. max tokens: P(k) proportional to k^-exponent. The
// exact sums in a table, and a second table that says where in it to look.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom {

inline constexpr std::int64_t kMaxZipfLengths = 1'000'000;
inline constexpr double kMaxZipfExponent = 20.0;

class ZipfQuantile {
 public:
  // 1 <= min <= max, at most kMaxZipfLengths lengths; 0 < exponent <= kMaxZipfExponent.
  ZipfQuantile(std::int32_t min, std::int32_t max, double exponent);

  [[nodiscard]] std::int32_t operator()(double probability) const;  // in (0, 1)

 private:
  std::int32_t min_;
  std::vector<double> cumulative_;  // of the weights (k / min)^-exponent
  // guide_[i]: the first entry of `cumulative_` above i / cells of the sum; a power of two cells,
  // so that both products are exact.
  std::size_t cells_;
  std::vector<std::uint32_t> guide_;
};

}  // namespace headroom
