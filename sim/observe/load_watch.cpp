#include "sim/observe/load_watch.hpp"

#include <sstream>

#include "sim/intake/prometheus_text.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/observe/completion_call.hpp"

namespace headroom {
namespace {

constexpr TimeNs kTimeout = 5 * kNsPerSecond;
constexpr std::size_t kMostMetricsBytes = std::size_t{16} << 20;

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
    const Engine* engine = engine_with_load(dump);
    if (engine == nullptr) {
      problem_ = "none of the names that are known";
      return;
    }
    engine_ = engine->name;
    samples_.push_back(published_load(dump, *engine, now_ns));
  } catch (const DataError& error) {
    problem_ = error.what();
  }
}

}  // namespace headroom
