#include "sim/resolve/run_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "sim/resolve/start_verdict.hpp"

namespace headroom {
namespace {

constexpr std::array<std::string_view, 4> kVerdictNames{"holds", "tight", "does_not_hold",
                                                        "does_not_start"};
constexpr std::array<std::string_view, 4> kVerdictTitles{"HOLDS", "TIGHT", "DOES NOT HOLD",
                                                         "DOES NOT START"};
constexpr double kFewGiveUp = 0.01;  // of the requests: they may have other reasons than waiting

bool was_cut_short(const RunResult& run) {
  return run.stop == StopReason::until || run.stop == StopReason::max_events ||
         run.stop == StopReason::interrupted;
}

struct SloTarget {
  std::string_view metric;  // whose p99 says most of it
  double limit_ms;
};

std::vector<SloTarget> targets_of(const SloSection& slo) {
  std::vector<SloTarget> targets;
  const auto add = [&](std::string_view metric, const std::optional<double>& limit) {
    if (limit) targets.push_back({metric, *limit});
  };
  add("p99_ttft_ms", slo.ttft_ms);
  add("p99_tpot_ms", slo.tpot_ms);
  add("p99_e2el_ms", slo.e2el_ms);
  return targets;
}

// "TTFT 2.00 s and TPOT 50.0 ms"; of classes, which have their own, "their targets".
std::string targets_text(const RunResult& run) {
  if (!run.resolved.scenario.workload.classes.empty()) return "their targets";
  std::string text;
  for (const SloTarget& target : targets_of(run.resolved.scenario.slo)) {
    const std::string title = latency_title(target.metric).substr(4);  // after "p99 "
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : " and ", title, latency_text(target.limit_ms));
  }
  return text;
}

// The first target that the known error of latencies reaches beyond.
std::string close_target(const RunResult& run) {
  if (!run.resolved.scenario.workload.classes.empty()) return "";
  for (const SloTarget& target : targets_of(run.resolved.scenario.slo)) {
    const LatencyMetric* metric = find_latency(target.metric);
    const double ms = run.summary.metrics.*metric->value;
    const double most = ms * (1 + latency_range(run.expected_error, metric->kind).high);
    if (most <= target.limit_ms) continue;
    return fmt::format("{} is {}, the target {}, but {} up to {}", latency_title(target.metric),
                       latency_text(ms), latency_text(target.limit_ms),
                       range_source(run.expected_error), latency_text(most));
  }
  return "";
}

// A limit on a latency of all requests, or of those of a class, and what it came to.
struct LimitedLatency {
  std::string title;  // "p99 TTFT", "class 1: p99 TTFT"
  const LatencyMetric* metric = nullptr;
  double ms = 0;
  double limit_ms = 0;
  bool is_known = false;  // a request finished
};

std::vector<LimitedLatency> limited_latencies(const RunResult& run) {
  std::vector<LimitedLatency> found;
  const auto add = [&](const SloSection& slo, const ServingMetrics& metrics,
                       const std::string& of) {
    for (const LatencyLimit& one : latency_limits()) {
      const std::optional<double>& limit = slo.*one.limit;
      if (!limit) continue;
      const LatencyMetric* metric = find_latency(one.metric);
      found.push_back({of + latency_title(one.metric), metric, metrics.*metric->value, *limit,
                       metrics.completed > 0});
    }
  };
  add(run.resolved.scenario.slo, run.summary.metrics, "");
  const auto& classes = run.resolved.scenario.workload.classes;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto own = std::ranges::find(run.summary.classes, static_cast<std::int32_t>(i),
                                       &ClassSummary::class_id);
    const bool alone = own == run.summary.classes.end();  // there is one class only
    add(classes[i].slo, alone ? run.summary.metrics : own->metrics, fmt::format("class {}: ", i));
  }
  return found;
}

std::string limited_text(const LimitedLatency& one) {
  return fmt::format("{} is {}, the target {}", one.title, latency_text(one.ms),
                     latency_text(one.limit_ms));
}

// The first limit that is missed; empty: none.
std::string missed_limit(const std::vector<LimitedLatency>& all, std::string_view& metric) {
  for (const LimitedLatency& one : all) {
    metric = one.metric->name;
    if (!one.is_known) return fmt::format("{}: no request finished", one.title);
    if (one.ms > one.limit_ms) return limited_text(one);
  }
  return "";
}

std::string close_limit(const RunResult& run, const std::vector<LimitedLatency>& all) {
  for (const LimitedLatency& one : all) {
    const double most = one.ms * (1 + latency_range(run.expected_error, one.metric->kind).high);
    if (most <= one.limit_ms) continue;
    return fmt::format("{}, but {} up to {}", limited_text(one), range_source(run.expected_error),
                       latency_text(most));
  }
  return "";
}

// What a run without targets shows. Requests without a rate (all at once) are not kept up with.
std::string served_text(const RunResult& run) {
  const WorkloadSection& w = run.resolved.scenario.workload;
  const double rate = run.summary.metrics.request_throughput;
  if (w.closed_loop.users) {
    return fmt::format("serves {} users with {:.3g} requests/s", *w.closed_loop.users, rate);
  }
  const bool has_rate =
      w.arrivals.request_rate || !w.trace.file.empty() || !w.servegen.directory.empty();
  if (has_rate || !w.classes.empty()) return fmt::format("keeps up with {:.3g} requests/s", rate);
  const std::int64_t finished = run.summary.requests.finished;
  return fmt::format("finishes {} request{} in {:.4g} s", finished, finished == 1 ? "" : "s",
                     static_cast<double>(run.summary.end_ns) * 1e-9);
}

RunVerdict judge_targets(const RunResult& run, const Catalog& catalog) {
  const ServingMetrics& m = run.summary.metrics;
  const std::vector<LimitedLatency> limited = limited_latencies(run);
  if (!m.request_goodput && limited.empty()) {
    return {HoldVerdict::holds, served_text(run) + "; no latency targets are set (slo)",
            Binds::nothing};
  }
  std::string_view metric;
  if (std::string missed = missed_limit(limited, metric); !missed.empty()) {
    return {HoldVerdict::does_not_hold, std::move(missed), what_binds(run, metric, catalog)};
  }
  std::string share;
  if (m.request_goodput) {
    const double kept = m.request_throughput > 0 ? *m.request_goodput / m.request_throughput : 0;
    share = fmt::format("{:.1f} % of requests keep {}", 100 * kept, targets_text(run));
    if (kept < kKeptShare) {
      return {HoldVerdict::does_not_hold, share, what_binds(run, "", catalog)};
    }
  }
  for (const LimitedLatency& one : limited) {
    share += (share.empty() ? "" : "; ") + limited_text(one);
  }
  std::string close = close_target(run);
  if (close.empty()) close = close_limit(run, limited);
  if (!close.empty()) {
    const bool says_both = close.starts_with(share);
    return {HoldVerdict::tight, says_both ? close : fmt::format("{}; {}", share, close),
            Binds::nothing};
  }
  return {HoldVerdict::holds, share, Binds::nothing};
}

// Of the rate that was asked for, where it is one; arrivals are drawn around it.
std::string overload_text(const RunResult& run, double served, double arrived) {
  const std::optional<double>& asked = run.resolved.scenario.workload.arrivals.request_rate;
  const std::string drawn = fmt::format("{:.3g}", arrived);
  const std::string rate = asked ? fmt::format("{:.3g}", *asked) : drawn;
  return fmt::format("overloaded: serves {:.3g} of {} requests/s{}", served, rate,
                     rate == drawn ? "" : fmt::format(" ({} as drawn with this seed)", drawn));
}

}  // namespace

std::string_view name_of(HoldVerdict verdict) {
  return kVerdictNames[static_cast<std::size_t>(verdict)];
}

std::string_view title_of(HoldVerdict verdict) {
  return kVerdictTitles[static_cast<std::size_t>(verdict)];
}

RunVerdict judge_run(const RunResult& run, const Catalog& catalog) {
  const std::string start = start_reason(run.resolved, run.budget);
  if (!run.started) return {HoldVerdict::does_not_start, start, Binds::nothing};
  if (std::string missed = unserved_traffic(run); !missed.empty()) {
    return {HoldVerdict::does_not_hold, std::move(missed), what_binds(run, "", catalog)};
  }
  RunVerdict verdict = judge_targets(run, catalog);
  if (!start.empty() && verdict.verdict < HoldVerdict::does_not_hold) {
    return {HoldVerdict::tight, start, Binds::nothing};
  }
  return verdict;
}

std::string unserved_traffic(const RunResult& run) {
  const RequestCounts& counts = run.summary.requests;
  if (counts.rejected > 0) {
    return fmt::format("rejects {} of {} requests{}", counts.rejected, counts.arrived,
                       run.summary.refused.empty() ? "" : ": longer than the engine accepts");
  }
  if (counts.lost_to_oom > 0) {
    return fmt::format("loses {} of {} requests to out of memory", counts.lost_to_oom,
                       counts.arrived);
  }
  if (counts.lost_to_fault > 0) {
    return fmt::format("loses {} of {} requests to crashes", counts.lost_to_fault, counts.arrived);
  }
  if (!run.summary.windows.stationarity.stationary) {
    const WindowReport& steady = run.summary.windows.steady;
    // A window that ends before the first answer says nothing about what is served.
    const double served =
        steady.finish_rate > 0 ? steady.finish_rate : run.summary.metrics.request_throughput;
    return overload_text(run, served, steady.arrival_rate);
  }
  if (const auto& use = run.totals.api_server; use && is_saturated(*use)) {
    return fmt::format("the API server falls behind, by up to {:.1f} s", backlog_s(*use));
  }
  if (const auto& ooms = run.summary.ooms;
      std::ranges::find(ooms, OomKind::thrash, &OomEntry::kind) != ooms.end()) {
    return "preempted requests are computed again and again (thrash)";
  }
  if (static_cast<double>(counts.cancelled) > kFewGiveUp * static_cast<double>(counts.arrived)) {
    return fmt::format("clients give up {} of {} requests", counts.cancelled, counts.arrived);
  }
  if (counts.unfinished > 0 && !was_cut_short(run)) {
    return fmt::format("{} requests are unfinished", counts.unfinished);
  }
  return "";
}

ErrorRange latency_range(const ExpectedError& error, LatencyKind kind) {
  ErrorRange range;
  bool any = false;
  const auto add = [&](std::string_view metric) {
    for (const ErrorRange& one : error.ranges) {
      if (one.metric != metric) continue;
      range.low = any ? std::min(range.low, one.low) : one.low;
      range.high = any ? std::max(range.high, one.high) : one.high;
      any = true;
    }
  };
  const bool all = kind == LatencyKind::e2el;
  if (all || kind == LatencyKind::ttft) add("mean_ttft_ms"), add("prefill_step");
  if (all || kind != LatencyKind::ttft) add("mean_tpot_ms"), add("decode_step");
  return range;
}

std::string_view range_source(const ExpectedError& error) {
  return error.runs > 0 ? "measured runs were" : "constants of other devices give";
}

std::string latency_title(std::string_view metric) {
  constexpr std::string_view kMsSuffix = "_ms";
  std::string title(metric.substr(0, metric.size() - kMsSuffix.size()));
  const std::size_t dash = title.find('_');
  std::transform(title.begin() + static_cast<std::ptrdiff_t>(dash), title.end(),
                 title.begin() + static_cast<std::ptrdiff_t>(dash), [](char c) {
                   return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
                 });
  title[dash] = ' ';
  return title.ends_with("E2EL") ? title.substr(0, dash + 1) + "latency" : title;
}

std::string latency_text(double ms) {
  if (ms >= 1000) return fmt::format("{:.2f} s", ms / 1000);
  return fmt::format("{:.{}f} ms", ms, ms >= 100 ? 0 : ms >= 10 ? 1 : 2);
}

}  // namespace headroom
