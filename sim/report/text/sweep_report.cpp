#include "sim/report/text/sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "sim/kernel/visible_text.hpp"
#include "sim/metrics/thin_percentiles.hpp"
#include "sim/report/text/capacity_report.hpp"
#include "sim/report/text/search_report.hpp"
#include "sim/report/text/study_points.hpp"
#include "sim/report/text/terminal.hpp"
#include "sim/report/text/wrapped_text.hpp"
#include "sim/resolve/run_verdict.hpp"

namespace headroom {
namespace {

struct Column {
  std::string_view metric;
  std::string_view head;
};
constexpr std::array kColumns{
    Column{"request_throughput", "requests/s"}, Column{"output_throughput", "tokens/s"},
    Column{"median_ttft_ms", "TTFT p50 ms"},    Column{"p99_ttft_ms", "TTFT p99 ms"},
    Column{"p99_tpot_ms", "TPOT p99 ms"},       Column{"max_kv_used_share", "KV max %"}};

using Runs = std::span<const StoredRun>;

// Mean over the runs that have the metric; "-" when none has.
std::string cell(Runs runs, const Column& column) {
  double sum = 0;
  int count = 0;
  for (const StoredRun& run : runs) {
    for (const auto& [name, value] : run.metrics) {
      if (name != column.metric) continue;
      sum += value;
      ++count;
    }
  }
  if (count == 0) return "-";
  const double mean = sum / count;
  if (column.metric == "max_kv_used_share") return fmt::format("{:.1f}", 100 * mean);
  return mean < 100 ? fmt::format("{:.2f}", mean) : fmt::format("{:.0f}", mean);
}

using Counts = std::map<std::string, std::size_t>;

// "failed 1/3; not stationary": of all runs, or of how many.
std::string counted(const Counts& counts, std::size_t runs) {
  std::string text;
  for (const auto& [what, count] : counts) {
    text += (text.empty() ? "" : "; ") + what;
    if (count < runs) text += fmt::format(" {}/{}", count, runs);
  }
  return text;
}

std::string oom_kinds(Runs runs) {
  Counts counts;
  for (const StoredRun& run : runs) {
    for (const StoredOom& oom : run.ooms) ++counts[oom.kind];
  }
  return counted(counts, runs.size());
}

std::string notes(Runs runs) {
  Counts counts;
  for (const StoredRun& run : runs) {
    if (!run.done) ++counts["failed"];
    if (run.stationary && !*run.stationary) ++counts["not stationary"];
    for (const auto& [name, value] : run.metrics) {
      if (name != "completed") continue;
      const auto thin = thin_percentiles(static_cast<std::int64_t>(value));
      if (!thin.empty()) ++counts[fmt::format("{} of {:g} requests", thin, value)];
    }
  }
  return counted(counts, runs.size());
}

// How long requests wait where the engine keeps up, which it may do however long that is; empty:
// not known.
std::string wait_text(const SweepShown& shown) {
  double least = std::numeric_limits<double>::infinity();
  double most = -1;
  for (const StoredRun& run : shown.runs) {  // overloaded ones have no latencies
    for (const auto& [name, ms] : run.metrics) {
      if (name != "p99_ttft_ms") continue;
      least = std::min(least, ms);
      most = std::max(most, ms);
    }
  }
  if (most < 0) return "";
  if (least == most) return fmt::format("; p99 TTFT is {}", latency_text(most));
  return fmt::format("; where they do, p99 TTFT is {} to {}", latency_text(least),
                     latency_text(most));
}

double metric_of(const StoredRun& run, std::string_view name) {
  for (const auto& [metric, value] : run.metrics) {
    if (metric == name) return value;
  }
  return 0;
}

// Whether the pool had no room for another request of the mean length.
bool fills_pool(const StoredRun& run) {
  constexpr double kFullShare = 0.995;  // blocks that no request fits into may stay free
  const double used = metric_of(run, "max_kv_used_share");
  const double pool = metric_of(run, "kv_tokens");
  const double completed = metric_of(run, "completed");
  if (pool <= 0 || completed <= 0) return used >= kFullShare;
  const double tokens =
      metric_of(run, "total_input_tokens") + metric_of(run, "total_output_tokens");
  return used + tokens / completed / pool >= 1 || used >= kFullShare;
}

// Points, by what went wrong with one of their runs; each counts once.
struct PointFates {
  std::set<std::int64_t> all;
  std::set<std::int64_t> failed;
  std::set<std::int64_t> not_started;
  std::set<std::int64_t> overloaded;
  std::set<std::int64_t> unserved;  // requests were rejected or lost
  std::set<std::int64_t> full;      // no room for another request, which is nothing wrong

  std::size_t kept_up() const {
    return all.size() - failed.size() - not_started.size() - overloaded.size() - unserved.size();
  }
};

PointFates fates_of(Runs runs) {
  PointFates fates;
  const auto worst = [&](const StoredRun& run) -> std::set<std::int64_t>* {
    if (!run.done) return &fates.failed;
    if (!run.stationary) return &fates.not_started;
    if (!*run.stationary) return &fates.overloaded;
    const double unserved = metric_of(run, "rejected") + metric_of(run, "lost_to_oom");
    return unserved > 0 || !run.ooms.empty() ? &fates.unserved : nullptr;
  };
  for (const StoredRun& run : runs) {
    fates.all.insert(run.point);
    if (std::set<std::int64_t>* fate = worst(run)) fate->insert(run.point);
    if (fills_pool(run)) fates.full.insert(run.point);
  }
  std::set<std::int64_t> counted;
  for (auto* fate : {&fates.failed, &fates.not_started, &fates.overloaded, &fates.unserved}) {
    std::erase_if(*fate, [&](std::int64_t point) { return !counted.insert(point).second; });
  }
  return fates;
}

// "17 of 25 points keep up; 8 are overloaded, the first at workload.arrivals.request_rate 22.0".
std::string sweep_sentence(const SweepShown& shown, const StudyPoints& points) {
  const PointFates fates = fates_of(shown.runs);
  const std::set<std::int64_t>& all = fates.all;
  if (all.empty()) return "";
  const bool is_part = std::ssize(all) < shown.counts.points;
  const auto at = [&](std::int64_t point) {
    std::string text;
    const std::vector<std::string> head = points.head();
    const std::vector<std::string> cells = points.cells(point);
    for (std::size_t i = 1; i < head.size(); ++i) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", head[i], cells[i]);
    }
    return text;
  };
  std::string text = fmt::format("{} of {}{} points keep up with their traffic",
                                 fates.kept_up() == 0 ? "none" : fmt::to_string(fates.kept_up()),
                                 is_part ? "the first " : "", all.size());
  const auto add = [&](const std::set<std::int64_t>& found, std::string_view one,
                       std::string_view many) {
    if (found.empty()) return;
    text += fmt::format("; {} {}, the first with {}", found.size(), found.size() == 1 ? one : many,
                        at(*found.begin()));
  };
  add(fates.failed, "failed", "failed");
  add(fates.not_started, "does not start", "do not start");
  add(fates.overloaded, "is overloaded", "are overloaded");
  add(fates.unserved, "rejects or loses requests", "reject or lose requests");
  text += wait_text(shown);
  add(fates.full, "fills its KV pool", "fill their KV pools");
  return wrapped("", text, 0, kStudyTextWidth) + "\n";
}

std::string failure_lines(const SweepShown& shown) {
  std::string text;
  for (const StoredRun& run : shown.failures) {
    text += fmt::format("  run {} (point {}) failed: {}\n", run.run, run.point,
                        visible_text(run.error));
  }
  const auto more = shown.counts.failed - static_cast<std::int64_t>(shown.failures.size());
  if (more > 0) text += fmt::format("  ... {} more failed\n", human_count(more));
  return text;
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 1) return "less than 1 s";
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", human_count(whole / 3600), whole / 60 % 60);
}

std::string sweep_plan_text(const StudyPlan& plan, std::int64_t runs, std::int64_t points,
                            const SweepEstimate& estimate, std::size_t threads) {
  const Study& study = plan.study();
  std::string text = fmt::format("study      {} ({})\n", visible_text(study.name), study.file);
  for (const AxisGroup& group : study.groups) {
    for (const StudyAxis& axis : group) {
      text += fmt::format("vary       {}: {} values, {} to {}{}\n", axis.path, axis.values.size(),
                          shown_setting(axis.values.front().dump()),
                          shown_setting(axis.values.back().dump()),
                          &axis == group.data() ? "" : " (shared with the previous search)");
    }
  }
  text += fmt::format("points     {}{}\n", human_count(plan.points()),
                      plan.left_out() == 0 ? ""
                                           : fmt::format(" ({} excluded by conditions)",
                                                         human_count(plan.left_out())));
  if (study.runs_points()) {
    text += fmt::format(
        "runs       {}: {} per point{}\n", human_count(plan.runs()), study.replications,
        runs == plan.runs() ? "" : fmt::format(", {} of them in this shard", human_count(runs)));
  }
  text += search_plan_lines(study);
  const std::int64_t measured = estimate.sampled - estimate.failed;
  if (measured == 0) {
    text += fmt::format("time       unknown: all {} sample runs failed\n", estimate.sampled);
    return text;
  }
  const auto all = static_cast<double>(runs + most_probes(study) * points);
  const double seconds =
      estimate.seconds_per_run * all / static_cast<double>(std::max<std::size_t>(threads, 1));
  text +=
      fmt::format("time       {} with -j {} ({:.0f} ms a run: mean of {} sample runs{}{})\n",
                  duration_text(seconds), threads, 1e3 * estimate.seconds_per_run, measured,
                  estimate.scaled == 0
                      ? ", each run in full"
                      : fmt::format(", {} of them cut short and scaled by the number of requests",
                                    estimate.scaled),
                  estimate.failed == 0 ? "" : fmt::format("; {} more failed", estimate.failed));
  return text;
}

SweepShown read_shown(const std::string& path) {
  const Database database(path, Database::Mode::read_only);
  return {read_parameters(database), read_runs(database, kMostPoints),
          read_failures(database, kMostFailures), read_counts(database),
          read_search_rows(database)};
}

std::string sweep_text(const SweepShown& shown, const std::string& path) {
  const std::string searches = searches_text(shown.searches, shown.parameters, kMostPoints);
  const StoredCounts& counts = shown.counts;
  if (counts.runs == 0 && !searches.empty()) return fmt::format("{}in {}\n", searches, path);
  const StudyPoints points(shown.parameters);
  std::vector<std::string> head = points.head();
  for (const Column& column : kColumns) head.emplace_back(column.head);
  head.insert(head.end(), {"OOM", "note"});
  std::vector<std::vector<std::string>> table{head};
  for (std::size_t i = 0; i < shown.runs.size();) {
    std::size_t end = i;
    while (end < shown.runs.size() && shown.runs[end].point == shown.runs[i].point) ++end;
    const Runs own(shown.runs.data() + i, end - i);
    i = end;
    std::vector<std::string> row = points.cells(own.front().point);
    for (const Column& column : kColumns) row.push_back(cell(own, column));
    row.push_back(oom_kinds(own));
    row.push_back(notes(own));
    table.push_back(std::move(row));
  }
  const auto more = counts.points - static_cast<std::int64_t>(table.size() - 1);
  std::string text = sweep_sentence(shown, points) + searches + table_text(table, kStudyTextWidth);
  if (more > 0) text += fmt::format("... {} more points\n", human_count(more));
  text += failure_lines(shown);
  text += fmt::format(
      "\n{} runs of {} points{} in {}\n", human_count(counts.runs), human_count(counts.points),
      counts.failed == 0 ? "" : fmt::format(", {} failed,", human_count(counts.failed)), path);
  return text;
}

std::string merge_text(const MergeResult& result, const SearchCounts& searches,
                       const std::string& path) {
  std::string text =
      fmt::format("{}: {} of {} runs of study {}", path, human_count(result.runs),
                  human_count(result.facts.total_runs), visible_text(result.facts.name));
  if (result.failed > 0) text += fmt::format(", {} failed", human_count(result.failed));
  if (result.twice > 0) {
    text += fmt::format(", {} present in several files", human_count(result.twice));
  }
  text += '\n';
  if (!result.missing.empty()) {
    text += fmt::format("missing    {} runs: {}\n",
                        human_count(static_cast<std::int64_t>(result.missing.size())),
                        ranges_text(result.missing, 20));
  }
  if (searches.missing > 0) {
    text += fmt::format("missing    {} of {} searches\n", human_count(searches.missing),
                        human_count(searches.wanted));
  }
  if (searches.failed > 0) {
    text += fmt::format("failed     {} searches\n", human_count(searches.failed));
  }
  return text;
}

}  // namespace headroom
