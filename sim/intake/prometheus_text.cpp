#include "sim/intake/prometheus_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "sim/engines/engines.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

class SampleLine {
 public:
  explicit SampleLine(std::string_view line) : rest_(line) {}

  // False when the line is no sample.
  bool read(std::string& name, MetricSample& sample, std::optional<double>& timestamp_ms) {
    const std::size_t end = rest_.find_first_of("{ \t");
    if (end == 0 || end == std::string_view::npos) return false;
    name = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (rest_.front() == '{' && !labels(sample)) return false;
    // Values are followed by a timestamp in ms, and OpenMetrics adds "# exemplar".
    const std::string_view numbers = trimmed(rest_.substr(0, rest_.find('#')));
    const std::size_t value_end = std::min(numbers.find_first_of(" \t"), numbers.size());
    const std::optional<double> value = number(numbers.substr(0, value_end));
    if (!value) return false;
    sample.value = *value;
    const std::string_view time = trimmed(numbers.substr(value_end));
    timestamp_ms = time.empty() ? std::nullopt : decimal_number(time);
    return time.empty() || timestamp_ms.has_value();
  }

 private:
  static std::optional<double> number(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
    return whole ? std::optional(value) : std::nullopt;
  }

  void skip_blank() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }

  bool labels(MetricSample& sample) {
    rest_.remove_prefix(1);
    while (true) {
      skip_blank();
      if (rest_.starts_with('}')) break;
      const std::size_t equals = rest_.find('=');
      if (equals == std::string_view::npos || equals + 1 >= rest_.size()) return false;
      const std::string key(trimmed(rest_.substr(0, equals)));
      rest_.remove_prefix(equals + 1);
      if (rest_.front() != '"') return false;
      std::string value;
      if (!quoted(value)) return false;
      sample.labels[key] = std::move(value);
      skip_blank();
      if (rest_.starts_with(',')) rest_.remove_prefix(1);
    }
    rest_.remove_prefix(1);
    return true;
  }

  bool quoted(std::string& value) {
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return true;
      }
      if (rest_[i] == '\\' && i + 1 < rest_.size()) ++i;
      const bool line_break = rest_[i] == 'n' && rest_[i - 1] == '\\';
      value += line_break ? '\n' : rest_[i];
    }
    return false;
  }

  std::string_view rest_;
};

// What only grows, from 0 on: far below 10^15 requests or tokens in the life of a server.
constexpr double kMostCounted = 1e15;

bool is_counted(std::string_view metric) {
  return engine_of_metric(metric) != nullptr &&
         (metric.ends_with("_bucket") || metric.ends_with("_count") || metric.ends_with("_sum") ||
          metric.ends_with("_total"));
}

// The lines of all samples by name and labels.
class SampleLines {
 public:
  // DataError: a second one.
  void add(const std::string& file, std::size_t line, const std::string& metric,
           const MetricSample& sample) {
    const auto [earlier, is_new] = lines_.try_emplace({metric, sample.labels}, line);
    if (is_new) return;
    throw DataError(
        fmt::format("{}:{}: {} with the same labels is also in line {}: expected one scrape of "
                    "/metrics per file",
                    file, line, metric, earlier->second));
  }

 private:
  std::map<std::pair<std::string, std::map<std::string, std::string>>, std::size_t> lines_;
};

}  // namespace

std::optional<double> MetricsDump::total(std::string_view name) const {
  const auto found = samples.find(std::string(name));
  if (found == samples.end()) return std::nullopt;
  double sum = 0;
  for (const MetricSample& sample : found->second) sum += sample.value;
  return sum;
}

std::optional<double> MetricsDump::least(std::string_view name) const {
  const auto found = samples.find(std::string(name));
  if (found == samples.end()) return std::nullopt;
  return std::ranges::min_element(found->second, {}, &MetricSample::value)->value;
}

std::string MetricsDump::label(std::string_view name, std::string_view label) const {
  const auto found = samples.find(std::string(name));
  if (found == samples.end()) return {};
  for (const MetricSample& sample : found->second) {
    const auto value = sample.labels.find(std::string(label));
    if (value != sample.labels.end()) return value->second;
  }
  return {};
}

std::optional<double> published(const MetricsDump& dump, std::string_view names) {
  for (const std::string_view name : split(names, '|')) {
    if (const std::optional<double> total = dump.total(name)) return total;
  }
  return std::nullopt;
}

MetricsDump read_prometheus(std::istream& text, const std::string& name) {
  MetricsDump dump;
  dump.file = name;
  SampleLines lines;
  std::string line;
  std::size_t number = 0;
  std::size_t samples = 0;
  while (std::getline(text, line)) {
    ++number;
    const std::string_view content = trimmed(line);
    if (content.empty() || content.front() == '#') continue;
    std::string metric;
    MetricSample sample;
    std::optional<double> timestamp_ms;
    if (!SampleLine(content).read(metric, sample, timestamp_ms)) {
      throw DataError(fmt::format(
          "{}:{}: not a line of a /metrics dump (name{{labels}} value), after {} samples", name,
          number, samples));
    }
    if (is_counted(metric) && !(sample.value >= 0 && sample.value <= kMostCounted)) {
      throw DataError(fmt::format("{}:{}: {} is {}, expected 0 to {:g}", name, number, metric,
                                  sample.value, kMostCounted));
    }
    // Front ends of one engine each have a process, so those of processes may stand there twice.
    if (engine_of_metric(metric) != nullptr) lines.add(name, number, metric, sample);
    if (timestamp_ms) {
      dump.taken_unix_s = std::max(dump.taken_unix_s.value_or(0), *timestamp_ms / 1000);
    }
    dump.samples[metric].push_back(std::move(sample));
    ++samples;
  }
  if (samples == 0)
    throw DataError(fmt::format("{}: not a /metrics dump: it has no samples", name));
  return dump;
}

}  // namespace headroom
