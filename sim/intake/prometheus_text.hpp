#pragma once
// Prometheus's text exposition format (0.0.4), as servers print it under /metrics.

#include <istream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

struct MetricSample {
  std::map<std::string, std::string> labels;
  double value = 0;  // may be infinite or not a number
};

struct MetricsDump {
  std::map<std::string, std::vector<MetricSample>> samples;  // by name, in order
  std::string file;                                          // for messages
  std::optional<double> taken_unix_s;  // the latest timestamp that a sample carries

  // Sum over all label sets of `name`; nothing when it does not occur.
  [[nodiscard]] std::optional<double> total(std::string_view name) const;
  // The least value of `name` in any sample; nothing when it does not occur.
  [[nodiscard]] std::optional<double> least(std::string_view name) const;
  // The first value that `label` has in any sample of `name`; empty when there is none.
  [[nodiscard]] std::string label(std::string_view name, std::string_view label) const;
};

// The sum over all label sets of the first of these names ("a|b") that occurs.
[[nodiscard]] std::optional<double> published(const MetricsDump& dump, std::string_view names);

// DataError `name:line: ...` for a line that is neither a comment nor a sample, for a second sample
// of the engine (vllm:...) with the same name and labels, for a count or a sum of it (..._bucket,
// _count, _sum, _total) below 0, beyond 10^15 or not a number, and for text without samples.
[[nodiscard]] MetricsDump read_prometheus(std::istream& text, const std::string& name);

}  // namespace headroom
