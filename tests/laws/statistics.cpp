#include "tests/laws/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <limits>
#include <numeric>

namespace headroom::laws {
namespace {

// Half of the ranks of equal values lie on each side of the one they share.
std::vector<double> ranks(std::span<const std::int32_t> values) {
  std::vector<std::int32_t> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> result;
  result.reserve(values.size());
  for (const std::int32_t value : values) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    result.push_back(static_cast<double>((first - sorted.begin()) + (last - sorted.begin())) / 2);
  }
  return result;
}

}  // namespace

bool MeanEstimate::agrees_with(double expected) const {
  return std::abs(mean - expected) < 4.0 * standard_error;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance(std::span<const double> values) {
  const double center = mean(values);
  double squares = 0.0;
  for (const double value : values) squares += (value - center) * (value - center);
  return squares / static_cast<double>(values.size() - 1);
}

double squared_variation(std::span<const double> values) {
  return variance(values) / (mean(values) * mean(values));
}

double dispersion(std::span<const double> values) { return variance(values) / mean(values); }

MeanEstimate estimate(std::span<const double> values) {
  return {.mean = mean(values),
          .standard_error = std::sqrt(variance(values) / static_cast<double>(values.size()))};
}

MeanEstimate estimate(std::span<const double> values, std::size_t parts,
                      const std::function<double(std::span<const double>)>& statistic) {
  const std::size_t size = values.size() / parts;
  std::vector<double> results;
  for (std::size_t i = 0; i < parts; ++i)
    results.push_back(statistic(values.subspan(i * size, size)));
  return estimate(results);
}

double kolmogorov(std::vector<double> values, const Distribution& law) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = law(values[i]);
    largest = std::max(largest, expected - static_cast<double>(i) / n);
    largest = std::max(largest, static_cast<double>(i + 1) / n - expected);
  }
  return largest * std::sqrt(n);
}

double kolmogorov(std::vector<std::int32_t> values, const Distribution& law) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double largest = 0.0;
  for (auto first = values.begin(); first != values.end();) {
    const auto last = std::upper_bound(first, values.end(), *first);
    const auto below = static_cast<double>(first - values.begin()) / n;
    const auto up_to = static_cast<double>(last - values.begin()) / n;
    largest = std::max(largest, std::abs(law(static_cast<double>(*first) - 1.0) - below));
    largest = std::max(largest, std::abs(law(static_cast<double>(*first)) - up_to));
    first = last;
  }
  return largest * std::sqrt(n);
}

double chi_square(std::span<const double> observed, std::span<const double> expected) {
  double sum = 0.0;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    if (expected[i] == 0.0 && observed[i] == 0.0) continue;
    if (expected[i] == 0.0) return std::numeric_limits<double>::infinity();
    sum += (observed[i] - expected[i]) * (observed[i] - expected[i]) / expected[i];
  }
  return sum;
}

double chi_square_critical(std::size_t degrees) {
  const boost::math::chi_squared law(static_cast<double>(degrees));
  return boost::math::quantile(boost::math::complement(law, 0.001));
}

double rank_correlation(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  const std::vector<double> x = ranks(a);
  const std::vector<double> y = ranks(b);
  const double mean_x = mean(x);
  const double mean_y = mean(y);
  double products = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) products += (x[i] - mean_x) * (y[i] - mean_y);
  return products / static_cast<double>(x.size() - 1) / std::sqrt(variance(x) * variance(y));
}

}  // namespace headroom::laws
