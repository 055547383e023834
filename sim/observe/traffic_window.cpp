#include "sim/observe/traffic_window.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "sim/engines/engine_metrics.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr std::size_t kMostReads = 4096;
constexpr std::string_view kProcessStarted = "process_start_time_seconds";

double seconds_between(const LoadSample& from, const LoadSample& to) {
  return static_cast<double>(to.time_ns - from.time_ns) / kNsPerSecondReal;
}

// The label under which the engine publishes an option.
std::string label_of_option(const EngineMetrics& metrics, std::string_view pointer) {
  const auto row = std::ranges::find(metrics.labels, pointer, &MetricLabel::pointer);
  return row == metrics.labels.end() ? "" : std::string(row->label);
}

// Nothing before the pool is sized, when the engine publishes 0 blocks or "None".
std::optional<double> pool_tokens_of(const MetricsDump& dump, const Engine& engine) {
  if (engine.metrics == nullptr) return std::nullopt;
  const auto config = dump.samples.find(std::string(engine.metrics->config));
  if (config == dump.samples.end()) return std::nullopt;
  const std::string blocks = label_of_option(*engine.metrics, engine.metrics->pool_option);
  const std::string block = label_of_option(*engine.metrics, "/engine/block_size");
  const auto number = [](const MetricSample& sample, const std::string& label) {
    const auto found = sample.labels.find(label);
    return found == sample.labels.end() ? std::nullopt : whole_number(found->second);
  };
  double tokens = 0;
  for (const MetricSample& sample : config->second) {
    tokens += static_cast<double>(number(sample, blocks).value_or(0)) *
              static_cast<double>(number(sample, block).value_or(0));
  }
  return tokens > 0 ? std::optional(tokens) : std::nullopt;
}

std::int64_t engines_in(const MetricsDump& dump, std::string_view names) {
  for (const std::string_view name : split(names, '|')) {
    const auto found = dump.samples.find(std::string(name));
    if (found != dump.samples.end()) return std::ssize(found->second);
  }
  return 0;
}

bool fell(const std::optional<double>& before, const std::optional<double>& now) {
  return before && now && *now < *before;
}

std::optional<double> requests_of(const std::optional<LengthHistogram>& lengths) {
  return lengths ? std::optional(lengths->requests) : std::nullopt;
}

std::optional<LengthHistogram> ended_between(const std::optional<LengthHistogram>& before,
                                             const std::optional<LengthHistogram>& now) {
  if (!now) return std::nullopt;
  // A server that has answered nobody yet publishes no histogram.
  LengthHistogram ended = before ? difference(*now, *before) : *now;
  return ended.requests > 0 ? std::optional(std::move(ended)) : std::nullopt;
}

}  // namespace

void TrafficWindow::read(const std::string& text, const std::string& name, TimeNs time_ns) {
  std::istringstream stream(text);
  const MetricsDump dump = read_prometheus(stream, name);
  const Engine* engine = engine_with_load(dump);
  if (engine == nullptr) {
    throw DataError(name + ": no metrics of an engine that is known");
  }
  Read now{.load = published_load(dump, *engine, time_ns),
           .prompt = {},
           .output = {},
           .started_unix_s = dump.least(kProcessStarted),
           .pool_tokens = pool_tokens_of(dump, *engine),
           .engines = engines_in(dump, engine->load_metrics->kv_share)};
  if (engine->metrics != nullptr) {
    now.prompt = length_histogram(dump, std::string(engine->metrics->prompt_lengths));
    now.output = length_histogram(dump, std::string(engine->metrics->output_lengths));
  }
  if (!reads_.empty() && (engine != engine_ || has_restarted(reads_.back(), now))) {
    reads_.clear();
    ++restarts_;
  }
  engine_ = engine;
  reads_.push_back(std::move(now));
  while (reads_.size() > kMostReads || time_ns - reads_.front().load.time_ns > length_ns_) {
    reads_.pop_front();
  }
}

bool TrafficWindow::has_restarted(const Read& before, const Read& now) {
  return before.started_unix_s != now.started_unix_s ||
         fell(before.load.preemptions, now.load.preemptions) ||
         fell(requests_of(before.prompt), requests_of(now.prompt)) ||
         fell(requests_of(before.output), requests_of(now.output));
}

std::optional<double> TrafficWindow::held(const Read& read) {
  if (!read.load.running) return std::nullopt;
  return *read.load.running + read.load.waiting.value_or(0);
}

std::optional<double> TrafficWindow::slope(std::optional<double> LoadSample::*value) const {
  constexpr std::size_t kLeastReads = 3;
  constexpr double kCertain = 3;
  if (reads_.size() < kLeastReads) return std::nullopt;
  double count = 0;
  double mean_x = 0;
  double mean_y = 0;
  for (const Read& read : reads_) {
    const std::optional<double>& y = read.load.*value;
    if (!y) return std::nullopt;
    ++count;
    mean_x += (seconds_between(reads_.front().load, read.load) - mean_x) / count;
    mean_y += (*y - mean_y) / count;
  }
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (const Read& read : reads_) {
    const double x = seconds_between(reads_.front().load, read.load) - mean_x;
    const double y = *(read.load.*value) - mean_y;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  if (xx <= 0) return std::nullopt;
  const double slope = xy / xx;
  const double error = std::sqrt(std::max(0.0, yy - slope * xy) / (count - 2) / xx);
  return std::abs(slope) >= kCertain * error ? slope : 0;
}

WatchedTraffic TrafficWindow::traffic() const {
  WatchedTraffic traffic;
  if (reads_.empty()) return traffic;
  const Read& first = reads_.front();
  const Read& last = reads_.back();
  traffic.seconds = seconds_between(first.load, last.load);
  traffic.reads = reads_.size();
  traffic.running = last.load.running;
  traffic.waiting = last.load.waiting;
  traffic.kv_share = last.load.kv_share;
  traffic.pool_tokens = last.pool_tokens;
  traffic.engines = last.engines;
  if (traffic.seconds <= 0) return traffic;
  if (first.load.preemptions && last.load.preemptions) {
    traffic.preemptions = *last.load.preemptions - *first.load.preemptions;
  }
  traffic.prompt = ended_between(first.prompt, last.prompt);
  traffic.output = ended_between(first.output, last.output);
  const bool counts_requests = engine_->metrics != nullptr;
  if (const auto now = held(last); now && counts_requests) {
    const double ended = requests_of(traffic.prompt).value_or(0);
    traffic.arrivals_per_s =
        std::max(0.0, ended + *now - held(first).value_or(*now)) / traffic.seconds;
  }
  traffic.waiting_per_s = slope(&LoadSample::waiting);
  traffic.kv_share_per_s = slope(&LoadSample::kv_share);
  return traffic;
}

}  // namespace headroom
