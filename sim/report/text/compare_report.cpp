#include "sim/report/text/compare_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/report/json/json_text.hpp"
#include "sim/report/json/names.hpp"
#include "sim/report/text/capacity_report.hpp"
#include "sim/report/text/terminal.hpp"
#include "sim/report/text/wrapped_text.hpp"
#include "sim/study/compare/compare_verdict.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

// What a person reads first; --json has all metrics.
constexpr std::array<std::string_view, 19> kComparedMetrics{
    "request_throughput", "output_throughput", "request_goodput",   "mean_ttft_ms", "p99_ttft_ms",
    "mean_tpot_ms",       "p99_tpot_ms",       "p99_itl_ms",        "mean_e2el_ms", "p99_e2el_ms",
    "completed",          "rejected",          "lost_to_oom",       "unfinished",   "preemptions",
    "oom_count",          "kv_tokens",         "max_kv_used_share", "busy_s"};

std::string number(double value) {
  const double size = std::abs(value);
  if (value == std::floor(value) && size < 1e15)
    return human_count(static_cast<std::int64_t>(value));
  return size < 10 ? fmt::format("{:.3f}", value) : fmt::format("{:.1f}", value);
}

std::string signed_number(double value) {
  return (value > 0 ? "+" : value < 0 ? "-" : "") + number(std::abs(value));
}

std::string per_cent(const MetricPair& pair) {
  if (pair.mean_a == 0) return pair.difference == 0 ? "0 %" : "";
  const double share = pair.difference / std::abs(pair.mean_a);
  return share > 10 ? fmt::format("x{:.0f}", share + 1) : fmt::format("{:+.1f} %", 100 * share);
}

std::string verdict(const MetricPair& pair) {
  if (pair.difference == 0 && pair.half_width == 0) return "equal";
  if (pair.pairs < 2) return "one pair";
  return pair.is_certain() ? "differs" : "not certain";
}

std::string metric_table(const std::vector<MetricPair>& metrics) {
  std::vector<std::vector<std::string>> rows{
      {"", "A", "B", "B - A", "95 %", "B - A", "pairs", "verdict"}};
  for (const std::string_view name : kComparedMetrics) {
    const auto found = std::ranges::find(metrics, name, &MetricPair::name);
    if (found == metrics.end()) continue;
    const MetricPair& pair = *found;
    if (pair.mean_a == 0 && pair.mean_b == 0) continue;
    rows.push_back({pair.name, number(pair.mean_a), number(pair.mean_b),
                    signed_number(pair.difference),
                    pair.pairs > 1 ? "±" + number(pair.half_width) : "", per_cent(pair),
                    std::to_string(pair.pairs), verdict(pair)});
  }
  return table_text(rows);
}

std::string side_text(std::string_view side, const std::string& label, const RunVerdict& verdict) {
  return fmt::format("{:<12}{}\n", side, label) +
         wrapped("", fmt::format("{}: {}", title_of(verdict.verdict), verdict.reason), 12,
                 kCapacityWidth);
}

std::string side_notes(const char* side, const ComparedRuns& runs) {
  std::string text;
  const auto add = [&](const std::string& note) {
    text += fmt::format("{}{}", text.empty() ? "" : "; ", note);
  };
  const RunResult& first = runs.first;
  if (!first.started) add("does not start");
  for (const StoredOom& oom : runs.rows.front().ooms) {
    add(fmt::format("{} OOM {}", oom.count, oom.kind));
  }
  const auto growing = std::ranges::count_if(
      runs.rows, [](const StoredRun& run) { return run.stationary && !*run.stationary; });
  if (growing > 0) {
    add(fmt::format("not stationary in {} of {} runs: latencies not shown", growing,
                    runs.rows.size()));
  }
  if (first.cost.uncalibrated)
    add("step times from constants of other devices or engines, not measured here");
  return text.empty() ? "" : fmt::format("{:<12}{}\n", side, text);
}

std::string length_text(const LengthQuarter& quarter) {
  return quarter.shortest == quarter.longest
             ? human_count(quarter.shortest)
             : fmt::format("{} to {}", human_count(quarter.shortest), human_count(quarter.longest));
}

std::string causes_text(const RequestPairs& pairs) {
  std::vector<std::vector<std::string>> rows{
      {"E2EL", "B - A, mean", "delayed most here", "meaning"}};
  for (std::size_t i = 0; i < kStayPhases; ++i) {
    const auto phase = static_cast<StayPhase>(i);
    rows.push_back({std::string(name_of(phase)), fmt::format("{:+.2f} ms", pairs.mean_change_ms[i]),
                    human_count(pairs.worse_by_cause[i]), std::string(meaning_of(phase))});
  }
  return table_text(rows);
}

std::string quarters_text(const RequestPairs& pairs) {
  std::vector<std::vector<std::string>> rows{{"prompt tokens", "requests", "B - A, mean E2EL"}};
  for (const LengthQuarter& quarter : pairs.quarters) {
    rows.push_back({length_text(quarter), human_count(quarter.requests),
                    fmt::format("{:+.2f} ms", quarter.mean_change_ms)});
  }
  return table_text(rows);
}

std::string worst_text(const RequestPairs& pairs) {
  constexpr std::size_t kRows = 8;
  std::vector<std::vector<std::string>> rows{
      {"request", "prompt", "output", "E2EL A", "E2EL B", "because of", "preempted A, B"}};
  for (const RequestPair& pair : pairs.worst) {
    if (rows.size() > kRows) break;
    const auto ms = [](TimeNs ns) { return human_ms(static_cast<double>(ns) * 1e-6); };
    const bool both = pair.both_finished();
    rows.push_back({std::to_string(pair.index), human_count(pair.prompt_tokens),
                    human_count(pair.output_tokens), both ? ms(pair.e2el_a_ns) : "finished",
                    both ? ms(pair.e2el_b_ns) : std::string(name_of(pair.outcome_b)),
                    both ? std::string(name_of(pair.cause())) : "",
                    fmt::format("{}, {}", pair.preemptions_a, pair.preemptions_b)});
  }
  return table_text(rows);
}

std::string requests_text(const RequestPairs& pairs) {
  if (!pairs.why_not.empty()) {
    return fmt::format("\nrequests are not paired: {}\n", pairs.why_not);
  }
  std::string text = fmt::format(
      "\nof {} requests (first replication) {} finished in both: {} slower, {} faster, {} within 1 "
      "% "
      "or 1 ms\n",
      human_count(pairs.requests), human_count(pairs.both_finished), human_count(pairs.worse),
      human_count(pairs.better), human_count(pairs.both_finished - pairs.worse - pairs.better));
  if (pairs.only_a_finished + pairs.only_b_finished > 0) {
    text += fmt::format("finished only in A {}, only in B {}\n", human_count(pairs.only_a_finished),
                        human_count(pairs.only_b_finished));
  }
  if (pairs.both_finished > 0) text += "\n" + causes_text(pairs) + "\n" + quarters_text(pairs);
  if (!pairs.worst.empty()) text += "\n" + worst_text(pairs);
  return text;
}

}  // namespace

std::string compare_text(const Comparison& comparison, const ComparisonResult& result) {
  std::string text = wrapped("", compare_sentence(result), 0, kCapacityWidth);
  text += side_text("A", comparison.a.label, result.a.verdict);
  text += side_text("B", comparison.b.label, result.b.verdict);
  if (result.has_no_draws) {
    text += "pairs       one: the same recorded requests in every replication: no draws\n";
  } else {
    text +=
        fmt::format("pairs       {} replications, each pair with one seed ({} to {})\n",
                    comparison.replications, result.a.rows.front().seed, result.a.rows.back().seed);
  }
  text += side_notes("A", result.a) + side_notes("B", result.b);
  for (const std::string& warning : result.a.first.warnings)
    text += "warning     A: " + warning + "\n";
  for (const std::string& warning : result.b.first.warnings)
    text += "warning     B: " + warning + "\n";
  text += "\n";
  return text + metric_table(result.metrics) + requests_text(result.requests);
}

}  // namespace headroom
