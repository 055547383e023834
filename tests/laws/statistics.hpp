#pragma once
// Tests of samples against laws. All seeds are fixed, so none of them flakes; the level of 0.001
// says how surprising a sample may be before the law is taken for wrong.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace headroom::laws {

using Distribution = std::function<double(double)>;  // P(value <= x)

// A mean over independent parts of a sample, and its standard error.
struct MeanEstimate {
  double mean = 0.0;
  double standard_error = 0.0;

  // Within four standard errors.
  [[nodiscard]] bool agrees_with(double expected) const;
};

[[nodiscard]] MeanEstimate estimate(std::span<const double> values);
// Of a statistic of `parts` equal runs of consecutive values.
[[nodiscard]] MeanEstimate estimate(
    std::span<const double> values, std::size_t parts,
    const std::function<double(std::span<const double>)>& statistic);

[[nodiscard]] double mean(std::span<const double> values);
[[nodiscard]] double variance(std::span<const double> values);
[[nodiscard]] double squared_variation(std::span<const double> values);  // variance / mean^2
[[nodiscard]] double dispersion(std::span<const double> values);         // variance / mean

// Kolmogorov and Smirnov: sqrt(n) times the largest distance between the sample's distribution and
// the law's. At the level 0.001 it stays below 1.949 (for whole numbers, which have ties, below
// even less).
inline constexpr double kKolmogorovCritical = 1.949;
[[nodiscard]] double kolmogorov(std::vector<double> values, const Distribution& law);
// For samples of whole numbers: compares at each of them and just below.
[[nodiscard]] double kolmogorov(std::vector<std::int32_t> values, const Distribution& law);

// Pearson: the sum of (observed - expected)^2 / expected. `expected` is known beforehand; every
// expected value should be at least 5. Bins of an expected 0 must stay empty: else infinity.
[[nodiscard]] double chi_square(std::span<const double> observed, std::span<const double> expected);
// What it stays below at the level 0.001, with this many degrees of freedom.
[[nodiscard]] double chi_square_critical(std::size_t degrees);

// Correlation of the ranks; values that are equal share theirs.
[[nodiscard]] double rank_correlation(std::span<const std::int32_t> a,
                                      std::span<const std::int32_t> b);

}  // namespace headroom::laws
