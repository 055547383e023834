#pragma once
// A distribution of lengths from a Prometheus histogram: counts per bucket and an exact sum.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/intake/prometheus_text.hpp"
#include "sim/scenario/json_document.hpp"

namespace headroom {

struct LengthHistogram {
  std::vector<double> bounds;  // upper ends of the buckets, ascending; the last may be infinite
  std::vector<double> counts;  // of each bucket alone
  double sum = 0;              // of all lengths, tokens
  double requests = 0;

  [[nodiscard]] double mean() const { return requests > 0 ? sum / requests : 0; }
};

// name_bucket, name_sum and name_count of the dump, added over all label sets but `le`. Nothing
// when it has no such histogram. DataError: buckets that fall, or hold another number of requests
// than name_count says.
[[nodiscard]] std::optional<LengthHistogram> length_histogram(const MetricsDump& dump,
                                                              const std::string& name);

// What `later` counted beyond `earlier`.
[[nodiscard]] LengthHistogram difference(const LengthHistogram& later,
                                         const LengthHistogram& earlier);

// A length section of a scenario's workload: the law "empirical" with one value per bucket. All
// values lie at the same share of their bucket's width, the one that gives the measured mean (up to
// rounding to whole tokens); within a bucket lengths are taken as equal. An infinite bucket is
// taken as 2.5 times as high as the bound below it, the largest step of vLLM's 1-2-5 buckets.
// Without buckets: the law "fixed" with the mean.
struct LengthSectionJson {
  Json section;
  std::string assumption;
};
[[nodiscard]] LengthSectionJson length_section(const LengthHistogram& histogram);

}  // namespace headroom
