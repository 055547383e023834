#include "sim/observe/load_watch.hpp"

#include <algorithm>
#include <sstream>

#include "sim/engines/engine_metrics.hpp"
#include "sim/engines/engines.hpp"
#include "sim/intake/prometheus_text.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/observe/completion_call.hpp"

namespace headroom {
namespace {

constexpr TimeNs kTimeout = 5 * kNsPerSecond;
constexpr std::size_t kMostMetricsBytes = std::size_t{16} << 20;

const Engine* engine_of(const MetricsDump& dump) {
  const auto all = engines();
  const auto found = std::ranges::find_if(all, [&](const Engine* engine) {
    return engine->load_metrics != nullptr && published(dump, engine->load_metrics->running);
  });
  return found == all.end() ? nullptr : *found;
}

// Several engines behind one server each have a pool.
std::optional<double> mean_of(const MetricsDump& dump, std::string_view names) {
  for (const std::string_view name : split(names, '|')) {
    const auto found = dump.samples.find(std::string(name));
    if (found == dump.samples.end()) continue;
    return *dump.total(name) / static_cast<double>(found->second.size());
  }
  return std::nullopt;
}

}  // namespace

void LoadWatch::poll() {
  if (problem_.empty() && !is_asking_ && client_.now_ns() >= next_ns_) ask();
}

TimeNs LoadWatch::next_ns() const { return problem_.empty() && !is_asking_ ? next_ns_ : kNever; }

void LoadWatch::ask_now() {
  if (!problem_.empty()) return;
  if (!is_asking_) ask();
  client_.wait_for([this] { return !is_asking_; });
}

void LoadWatch::ask() {
  is_asking_ = true;
  next_ns_ = client_.now_ns() + every_ns_;
  body_.clear();
  HttpCall call;
  call.path = "/metrics";
  call.timeout_ns = kTimeout;
  call.on_bytes = [this](std::string_view bytes, TimeNs) {
    body_ += bytes;
    return body_.size() < kMostMetricsBytes;
  };
  call.on_end = [this](const HttpEnd& end, TimeNs now_ns) {
    is_asking_ = false;
    if (!end.is_cancelled) read(end, now_ns);
  };
  client_.start(std::move(call));
}

void LoadWatch::read(const HttpEnd& end, TimeNs now_ns) {
  // A busy server may be late once; one that has no metrics will not get any.
  if (end.timed_out) return;
  if (!end.problem.empty() || end.status != kHttpOk) {
    problem_ = refusal_text(end);
    return;
  }
  try {
    std::istringstream text(body_);
    const MetricsDump dump = read_prometheus(text, "/metrics");
    const Engine* engine = engine_of(dump);
    if (engine == nullptr) {
      problem_ = "none of the names that are known";
      return;
    }
    engine_ = engine->name;
    const LoadMetrics& names = *engine->load_metrics;
    samples_.push_back({.time_ns = now_ns,
                        .running = published(dump, names.running),
                        .waiting = published(dump, names.waiting),
                        .kv_share = mean_of(dump, names.kv_share),
                        .preemptions = published(dump, names.preemptions),
                        .prefix_hits = published(dump, names.prefix_hits),
                        .prefix_queries = published(dump, names.prefix_queries)});
  } catch (const DataError& error) {
    problem_ = error.what();
  }
}

}  // namespace headroom
