#include "sim/report/sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>

#include "sim/report/capacity_report.hpp"
#include "sim/report/terminal.hpp"

namespace headroom {
namespace {

constexpr std::size_t kWidth = 160;

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
  }
  return counted(counts, runs.size());
}

// The last name of each path; the whole path where two paths end alike.
std::vector<std::string> heads_of(const std::vector<std::string>& paths) {
  std::vector<std::string> heads;
  for (const std::string& path : paths) {
    const std::string last = path.substr(path.rfind('.') + 1);
    const auto same = std::ranges::count_if(paths, [&](const std::string& other) {
      return other.substr(other.rfind('.') + 1) == last;
    });
    heads.push_back(same > 1 ? path : last);
  }
  return heads;
}

std::string shown(const std::string& json) {
  const bool text = json.size() >= 2 && json.front() == '"' && json.back() == '"';
  std::string value = text ? json.substr(1, json.size() - 2) : json;
  if (value.size() > 40) value = value.substr(0, 37) + "...";
  return value;
}

// Parameters of each point, in the order of the study's paths.
class Points {
 public:
  explicit Points(const std::vector<StoredParameter>& parameters) {
    std::set<std::string> paths;
    for (const StoredParameter& one : parameters) {
      paths.insert(one.path);
      values_[one.point][one.path] = one.json;
    }
    paths_.assign(paths.begin(), paths.end());
  }
  [[nodiscard]] std::vector<std::string> head() const {
    std::vector<std::string> head{"point"};
    for (std::string& one : heads_of(paths_)) head.push_back(std::move(one));
    return head;
  }
  [[nodiscard]] std::vector<std::string> cells(std::int64_t point) const {
    std::vector<std::string> cells{fmt::format("{}", point)};
    const auto found = values_.find(point);
    for (const std::string& path : paths_) cells.push_back(shown(found->second.at(path)));
    return cells;
  }

 private:
  std::vector<std::string> paths_;
  std::map<std::int64_t, std::map<std::string, std::string>> values_;
};

std::string failure_lines(const SweepShown& shown) {
  std::string text;
  for (const StoredRun& run : shown.failures) {
    text += fmt::format("  run {} (point {}) failed: {}\n", run.run, run.point, run.error);
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

std::string sweep_plan_text(const StudyPlan& plan, std::int64_t runs, const SweepEstimate& estimate,
                            std::size_t threads) {
  const Study& study = plan.study();
  std::string text = fmt::format("study      {} ({})\n", study.name, study.file);
  for (const AxisGroup& group : study.groups) {
    for (const StudyAxis& axis : group) {
      text += fmt::format("vary       {}: {} values, {} to {}{}\n", axis.path, axis.values.size(),
                          shown(axis.values.front().dump()), shown(axis.values.back().dump()),
                          &axis == group.data() ? "" : " (together with the one before)");
    }
  }
  text += fmt::format("points     {}{}\n", human_count(plan.points()),
                      plan.left_out() == 0 ? ""
                                           : fmt::format(" ({} left out by conditions)",
                                                         human_count(plan.left_out())));
  text += fmt::format(
      "runs       {}: {} per point{}\n", human_count(plan.runs()), study.replications,
      runs == plan.runs() ? "" : fmt::format(", {} of them to do here", human_count(runs)));
  const std::int64_t measured = estimate.sampled - estimate.failed;
  if (measured == 0) {
    text += fmt::format("time       not known: all {} sample runs failed\n", estimate.sampled);
    return text;
  }
  const double seconds = estimate.seconds_per_run * static_cast<double>(runs) /
                         static_cast<double>(std::max<std::size_t>(threads, 1));
  text += fmt::format(
      "time       {} with -j {} ({:.0f} ms a run: mean of {} sample runs{}{})\n",
      duration_text(seconds), threads, 1e3 * estimate.seconds_per_run, measured,
      estimate.scaled == 0
          ? ", all measured whole"
          : fmt::format(", {} of them cut short and scaled by their requests", estimate.scaled),
      estimate.failed == 0 ? "" : fmt::format("; {} more failed", estimate.failed));
  return text;
}

SweepShown read_shown(const std::string& path) {
  const Database database(path, Database::Mode::read_only);
  return {read_parameters(database), read_runs(database, kMostPoints),
          read_failures(database, kMostFailures), read_counts(database)};
}

std::string sweep_text(const SweepShown& shown, const std::string& path) {
  const Points points(shown.parameters);
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
  const StoredCounts& counts = shown.counts;
  const auto more = counts.points - static_cast<std::int64_t>(table.size() - 1);
  std::string text = table_text(table, kWidth);
  if (more > 0) text += fmt::format("... {} more points\n", human_count(more));
  text += failure_lines(shown);
  text += fmt::format(
      "\n{} runs of {} points{} in {}\n", human_count(counts.runs), human_count(counts.points),
      counts.failed == 0 ? "" : fmt::format(", {} failed,", human_count(counts.failed)), path);
  return text;
}

std::string merge_text(const MergeResult& result, const std::string& path) {
  std::string text = fmt::format("{}: {} of {} runs of study {}", path, human_count(result.runs),
                                 human_count(result.facts.total_runs), result.facts.name);
  if (result.failed > 0) text += fmt::format(", {} failed", human_count(result.failed));
  if (result.twice > 0) {
    text += fmt::format(", {} stood in several files", human_count(result.twice));
  }
  text += '\n';
  if (!result.missing.empty()) {
    text += fmt::format("missing    {} runs: {}\n",
                        human_count(static_cast<std::int64_t>(result.missing.size())),
                        ranges_text(result.missing, 20));
  }
  return text;
}

}  // namespace headroom
