#include "sim/intake/length_histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr double kLastBucketGrowth = 2.5;
constexpr double kLargestWeight = 1e9;  // of the option table

std::int64_t rounded(double tokens) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(tokens + 0.5));
}

struct Bucket {
  double low = 0;
  double width = 0;
  double count = 0;
};

std::vector<Bucket> filled_buckets(const LengthHistogram& histogram) {
  std::vector<Bucket> buckets;
  double below = 0;
  for (std::size_t i = 0; i < histogram.bounds.size(); ++i) {
    const double bound = histogram.bounds[i];
    const double high = std::isinf(bound) ? below * kLastBucketGrowth : bound;
    if (histogram.counts[i] > 0) {
      buckets.push_back({.low = below, .width = high - below, .count = histogram.counts[i]});
    }
    below = high;
  }
  return buckets;
}

}  // namespace

std::optional<LengthHistogram> length_histogram(const MetricsDump& dump, const std::string& name) {
  const std::optional<double> requests = dump.total(name + "_count");
  const std::optional<double> sum = dump.total(name + "_sum");
  if (!requests || !sum || *requests <= 0) return std::nullopt;
  LengthHistogram histogram{.bounds = {}, .counts = {}, .sum = *sum, .requests = *requests};
  std::map<double, double> cumulative;
  if (const auto buckets = dump.samples.find(name + "_bucket"); buckets != dump.samples.end()) {
    for (const MetricSample& sample : buckets->second) {
      const auto bound = sample.labels.find("le");
      if (bound == sample.labels.end()) continue;
      const bool infinite = bound->second == "+Inf";
      const std::optional<double> value = decimal_number(bound->second);
      if (infinite || value) cumulative[infinite ? INFINITY : *value] += sample.value;
    }
  }
  double below = 0;
  for (const auto& [bound, count] : cumulative) {
    if (count < below) {
      throw DataError(fmt::format(
          "{}: {}_bucket falls from {:.0f} to {:.0f} at le=\"{}\"; expected cumulative buckets",
          dump.file, name, below, count, bound));
    }
    histogram.bounds.push_back(bound);
    histogram.counts.push_back(count - below);
    below = count;
  }
  if (!cumulative.empty() && std::isinf(cumulative.rbegin()->first) && below != *requests) {
    throw DataError(fmt::format("{}: {}_count is {:.0f}, expected {:.0f} as in its last bucket",
                                dump.file, name, *requests, below));
  }
  return histogram;
}

LengthHistogram difference(const LengthHistogram& later, const LengthHistogram& earlier) {
  LengthHistogram result = later;
  result.sum -= earlier.sum;
  result.requests -= earlier.requests;
  const bool same = later.bounds == earlier.bounds;
  for (std::size_t i = 0; i < result.counts.size(); ++i) {
    result.counts[i] = same ? later.counts[i] - earlier.counts[i] : 0;
  }
  return result;
}

LengthSectionJson length_section(const LengthHistogram& histogram) {
  const std::vector<Bucket> buckets = filled_buckets(histogram);
  double low_sum = 0;
  double width_sum = 0;
  double counted = 0;
  double largest = 0;
  for (const Bucket& bucket : buckets) {
    low_sum += bucket.count * bucket.low;
    width_sum += bucket.count * bucket.width;
    counted += bucket.count;
    largest = std::max(largest, bucket.count);
  }
  LengthSectionJson result;
  const double mean = histogram.mean();
  if (width_sum <= 0) {
    result.section = {{"law", "fixed"}, {"tokens", rounded(mean)}};
    result.assumption = fmt::format("each as long as the mean of {:.1f} tokens", mean);
    return result;
  }
  const double share = std::clamp((mean * counted - low_sum) / width_sum, 0.0, 1.0);
  const double scale = largest > kLargestWeight ? kLargestWeight / largest : 1;
  Json values = Json::array();
  Json weights = Json::array();
  for (const Bucket& bucket : buckets) {
    values.push_back(rounded(bucket.low + share * bucket.width));
    weights.push_back(static_cast<std::int64_t>(bucket.count * scale + 0.5));
  }
  result.section = {{"law", "empirical"}, {"values", values}, {"weights", weights}};
  result.assumption = fmt::format(
      "one length for each of {} buckets, at {:.0f} % of its width, which gives the measured mean "
      "of {:.1f} tokens",
      buckets.size(), 100 * share, mean);
  return result;
}

}  // namespace headroom
