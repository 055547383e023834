#include "sim/server/served_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/json_document.hpp"

namespace headroom {
namespace {

double seconds(TimeNs ns) { return static_cast<double>(ns) / kNsPerSecondReal; }

// A real number always has a point, as in prometheus_client's pages.
std::string real(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// 1, 2, 5, 10, ... up to the longest context.
std::vector<double> bounds_up_to(std::int64_t most) {
  std::vector<double> bounds;
  for (std::int64_t power = 1; power <= most; power *= 10) {
    for (const std::int64_t factor : {1, 2, 5}) {
      if (factor * power <= most) bounds.push_back(static_cast<double>(factor * power));
    }
  }
  return bounds;
}

std::string_view word_of(MetricType type) {
  switch (type) {
    case MetricType::gauge: return "gauge";
    case MetricType::counter: return "counter";
    case MetricType::histogram: break;
  }
  return "histogram";
}

}  // namespace

void ServedMetrics::Histogram::add(double value) {
  const auto place = std::ranges::lower_bound(bounds_, value);
  ++counts_[static_cast<std::size_t>(place - bounds_.begin())];
  ++all_;
  sum_ += value;
}

void ServedMetrics::Histogram::write(std::string& page, std::string_view name,
                                     const std::string& labels) const {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    const std::string bound = i < bounds_.size() ? real(bounds_[i]) : "+Inf";
    page += fmt::format("{}_bucket{{{},le=\"{}\"}} {}.0\n", name, labels, bound, below);
  }
  page +=
      fmt::format("{0}_count{{{1}}} {2}.0\n{0}_sum{{{1}}} {3}\n", name, labels, all_, real(sum_));
}

ServedMetrics::ServedMetrics(const std::string& model, std::int64_t max_model_len,
                             bool finds_prefixes, std::size_t replicas)
    : model_(Json(model).dump()),
      length_bounds_(bounds_up_to(max_model_len)),
      finds_prefixes_(finds_prefixes) {
  OfReplica none;
  for (std::size_t i = 0; i < kPublished; ++i) none.histograms.emplace_back(std::span<double>());
  for (const PublishedMetric& metric : published_metrics().metrics) {
    if (metric.type != MetricType::histogram) continue;
    none.histogram(metric.what) =
        Histogram(metric.bounds.empty() ? std::span<const double>(length_bounds_) : metric.bounds);
  }
  replicas_.assign(replicas, none);
}

void ServedMetrics::on_event(const EngineEvent& event) {
  if (event.replica >= replicas_.size()) return;  // at the fleet's door
  OfReplica& own = replicas_[event.replica];
  if (event.kind == EngineEventKind::preempted) own.value(Published::preemptions) += 1;
  // What is computed again after a preemption is counted apart there, too.
  if (event.kind != EngineEventKind::admitted || event.resumed || !finds_prefixes_) return;
  own.value(Published::prefix_queries) += static_cast<double>(event.tokens);
  own.value(Published::prefix_hits) += static_cast<double>(event.cached_tokens);
}

void ServedMetrics::on_first_token(std::uint16_t replica, std::int64_t prompt_tokens,
                                   TimeNs ttft_ns) {
  OfReplica& own = replicas_[replica];
  own.value(Published::prompt_tokens) += static_cast<double>(prompt_tokens);
  own.histogram(Published::first_token_s).add(seconds(ttft_ns));
}

void ServedMetrics::on_gap(std::uint16_t replica, TimeNs gap_ns) {
  replicas_[replica].histogram(Published::between_tokens_s).add(seconds(gap_ns));
}

void ServedMetrics::on_answer(const ServedAnswer& answer) {
  const RequestRecord& r = answer.record;
  OfReplica& own = replicas_[r.replica];
  on_ended(r.replica, answer.finish_reason);
  own.histogram(Published::prompt_lengths).add(r.prompt_tokens);
  own.histogram(Published::answer_lengths).add(r.output_tokens);
  own.histogram(Published::max_tokens).add(r.max_tokens);
  own.histogram(Published::e2e_s).add(seconds(r.finish_ns - r.arrival_ns + answer.client_ns));
  own.histogram(Published::queue_s).add(seconds(r.first_scheduled_ns - r.queued_ns));
  own.histogram(Published::inference_s).add(seconds(r.finish_ns - r.first_scheduled_ns));
  own.histogram(Published::prefill_s).add(seconds(r.first_token_ns - r.first_scheduled_ns));
  const double decode_s = seconds(r.finish_ns - r.first_token_ns);
  own.histogram(Published::decode_s).add(decode_s);
  if (r.output_tokens > 1) {
    own.histogram(Published::per_token_s).add(decode_s / (r.output_tokens - 1));
  }
}

void ServedMetrics::on_ended(std::uint16_t replica, std::string_view reason) {
  if (replica >= replicas_.size()) return;
  const auto place = std::ranges::find(kReasons, reason) - kReasons.begin();
  ++replicas_[replica].ended.at(static_cast<std::size_t>(place));
}

std::string ServedMetrics::labels(std::size_t replica) const {
  const PublishedMetrics& names = published_metrics();
  return fmt::format("{}=\"{}\",{}={}", names.engine_label, replica, names.model_label, model_);
}

void ServedMetrics::write(std::string& page, const PublishedMetric& metric, std::size_t replica,
                          double level) const {
  const OfReplica& own = replicas_[replica];
  const auto place = static_cast<std::size_t>(metric.what);
  if (metric.type == MetricType::histogram) {
    return own.histograms[place].write(page, metric.name, labels(replica));
  }
  if (metric.what == Published::successes) {
    for (std::size_t i = 0; i < kReasons.size(); ++i) {
      page += fmt::format("{}{{{},{}=\"{}\"}} {}.0\n", metric.name, labels(replica),
                          published_metrics().reason_label, kReasons[i], own.ended[i]);
    }
    return;
  }
  const double value = metric.type == MetricType::gauge ? level : own.values[place];
  page += fmt::format("{}{{{}}} {}\n", metric.name, labels(replica), real(value));
}

std::string ServedMetrics::text(const std::vector<std::unique_ptr<Replica>>& replicas,
                                TimeNs now_ns) const {
  std::string page;
  for (const PublishedMetric& metric : published_metrics().metrics) {
    page += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", metric.name, metric.doc,
                        word_of(metric.type));
    for (std::size_t i = 0; i < replicas.size(); ++i) {
      const ReplicaLoad load = replicas[i]->load(now_ns);
      const KvPoolState pool = replicas[i]->state().pool;
      auto level = static_cast<double>(load.running);
      if (metric.what == Published::waiting) level = static_cast<double>(load.waiting);
      if (metric.what == Published::kv_share) {
        level = pool.total_blocks == 0 ? 0
                                       : static_cast<double>(pool.used_blocks()) /
                                             static_cast<double>(pool.total_blocks);
      }
      write(page, metric, i, level);
    }
  }
  return page;
}

}  // namespace headroom
