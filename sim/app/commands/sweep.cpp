// `headroom sweep STUDY`: all runs of a study into one SQLite file; `headroom merge`: files of its
// shards into one.

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/app/interruption.hpp"
#include "sim/app/list.hpp"
#include "sim/app/next_step.hpp"
#include "sim/app/output_name.hpp"
#include "sim/app/threads.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/report/files/result_files.hpp"
#include "sim/report/json/result_json.hpp"
#include "sim/report/json/sweep_json.hpp"
#include "sim/report/text/sweep_report.hpp"
#include "sim/resolve/run_verdict.hpp"
#include "sim/study/search/finish_searches.hpp"
#include "sim/study/search/search_runner.hpp"
#include "sim/study/store/merge.hpp"
#include "sim/study/store/results_store.hpp"
#include "sim/study/sweep/study_plan.hpp"
#include "sim/study/sweep/study_runner.hpp"

namespace headroom {
namespace {

struct SweepArguments {
  std::string study;
  std::string output;                   // empty: results/<name of the study>.db
  std::string shard = "1/1";            // i/n
  std::vector<std::string> set;         // overrides the base
  std::string trace;                    // instead of the base's traffic; empty: that
  std::string columns;                  // of the trace
  std::string catalog;                  // folder that overrides the embedded one; empty: none
  std::optional<std::int64_t> threads;  // empty: all cores
  bool resume = false;
  bool quiet = false;
  bool dry_run = false;
  bool json = false;
};

struct MergeArguments {
  std::string output;
  std::vector<std::string> inputs;
};

constexpr double kSampleSeconds = 2;  // that one run of an estimate may take

// The default lies in a folder that is made for it; a file that the user names, where he says.
std::string output_of(const SweepArguments& arguments, const Study& study) {
  if (!arguments.output.empty()) return arguments.output;
  const std::string name = output_name(study.file, study.name);
  std::error_code error;
  std::filesystem::create_directories("results", error);
  if (error) throw ConfigError(fmt::format("results: cannot write: {}", error.message()));
  return fmt::format("results/{}.db", name);
}

// Runs whose time is measured: those of the study, or where it only searches, of its points as they
// stand.
std::vector<std::int64_t> samples_of(const StudyPlan& plan, const StudyShard& shard) {
  if (plan.study().runs_points()) return plan.runs_of(shard);
  std::vector<std::int64_t> runs = plan.points_of(shard);
  for (std::int64_t& run : runs) run *= plan.study().replications;
  return runs;
}

// How far a study is, on stderr: a line that is replaced on a terminal, now and then a line of its
// own elsewhere.
class SweepProgress {
 public:
  SweepProgress() : terminal_(::isatty(STDERR_FILENO) == 1) {}
  ~SweepProgress() {
    if (terminal_ && shown_) fmt::print(stderr, "\r\033[K");
  }
  SweepProgress(const SweepProgress&) = delete;
  SweepProgress& operator=(const SweepProgress&) = delete;

  void show(const SweepState& state) {
    const Clock::time_point now = Clock::now();
    if (!is_due(now)) return;
    const double elapsed_s = std::chrono::duration<double>(now - start_).count();
    const double rate = static_cast<double>(state.stored) / elapsed_s;
    std::string text =
        fmt::format("{} of {} runs, {:.1f} per second", state.stored, state.wanted, rate);
    if (state.stored > 0) {
      const double left = static_cast<double>(state.wanted - state.stored) / rate;
      text += fmt::format(", {} left", duration_text(left));
    }
    if (state.failed > 0) text += fmt::format(", {} failed", state.failed);
    print(text);
  }
  void show(const SearchState& state) {
    if (!is_due(Clock::now())) return;
    std::string text =
        fmt::format("{} of {} searches, {} runs so far", state.done, state.wanted, state.probes);
    if (state.failed > 0) text += fmt::format(", {} failed", state.failed);
    print(text);
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_due(Clock::time_point now) {
    if (now - last_ < (terminal_ ? kOnTerminal : kElsewhere)) return false;
    last_ = now;
    shown_ = true;
    return true;
  }
  void print(const std::string& text) const {
    fmt::print(stderr, "{}{}{}", terminal_ ? "\r" : "", text, terminal_ ? "\033[K" : "\n");
    std::fflush(stderr);
  }

  static constexpr std::chrono::milliseconds kOnTerminal{200};
  static constexpr std::chrono::milliseconds kElsewhere{10'000};

  bool terminal_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

StudyAnswer sweep_command(const SweepArguments& arguments, const std::string& version,
                          const std::atomic<bool>& interrupted) {
  const StudyShard shard = parse_shard(arguments.shard);
  const std::size_t threads = threads_of(arguments.threads);
  const Catalog catalog = load_catalog(arguments.catalog);
  std::vector<std::string> set = arguments.set;
  if (!arguments.columns.empty()) set.push_back(columns_setting(arguments.columns));
  const StudyPlan plan(load_study(arguments.study, set, arguments.trace));
  plan.check(catalog);
  const std::vector<std::int64_t> wanted = plan.runs_of(shard);
  const std::vector<SearchTask> tasks = tasks_of(plan, shard);
  if (arguments.dry_run && arguments.json) {
    throw ConfigError(Complaint{.kind = ErrorKind::conflict,
                                .origin = "--json",
                                .problem = "prints results, of which --dry-run has none"});
  }
  if (arguments.dry_run) {
    const std::vector<std::int64_t> points = plan.points_of(shard);
    return {sweep_plan_text(plan, std::ssize(wanted), std::ssize(points),
                            estimate(plan, catalog, samples_of(plan, shard), kSampleSeconds),
                            threads)};
  }

  const std::string path = output_of(arguments, plan.study());
  StudyAnswer answer;
  {
    ResultsStore store(path, arguments.resume ? StoreMode::resume : StoreMode::create,
                       facts_of(plan, version), parameters_of(plan));
    const std::vector<std::int64_t> missing = missing_runs(wanted, store.done());
    SweepProgress progress;
    SweepOptions options;
    options.threads = threads;
    options.interrupted = &interrupted;
    options.summary = [&](const RunResult& result) {
      const RunVerdict verdict = judge_run(result, catalog);
      return summary_json(result, version, &verdict);
    };
    options.progress = [&](const SweepState& state) { progress.show(state); };
    const SweepState state = run_study(plan, catalog, missing, store, options);
    if (state.failed > 0) answer.end = StudyEnd::incomplete;
    if (state.stored < state.wanted) answer.end = StudyEnd::interrupted;
    if (answer.end != StudyEnd::interrupted && !tasks.empty()) {
      SearchOptions search;
      search.threads = threads;
      search.interrupted = &interrupted;
      search.progress = [&](const SearchState& now) { progress.show(now); };
      const SearchState found =
          run_searches(plan, catalog, missing_tasks(tasks, store.database()), store, search);
      if (found.failed > 0) answer.end = StudyEnd::incomplete;
      if (found.done < found.wanted) answer.end = StudyEnd::interrupted;
    }
    store.finish();
  }
  finish_searches(path);
  if (arguments.json) {
    answer.text = sweep_json(path);
    return answer;
  }
  answer.text = sweep_text(read_shown(path), path);
  if (answer.end == StudyEnd::interrupted) {
    answer.text += "interrupted: to continue, add --resume to the same command\n";
  } else if (!arguments.quiet) {
    answer.text += next_line("report " + shell_word(path), "curves, heat maps and all points");
  }
  return answer;
}

StudyAnswer merge_command(const MergeArguments& arguments) {
  const MergeResult result = merge_stores(arguments.output, arguments.inputs);
  const SearchCounts searches = finish_searches(arguments.output);
  const bool complete =
      result.failed == 0 && result.missing.empty() && searches.failed == 0 && searches.missing == 0;
  return {merge_text(result, searches, arguments.output),
          complete ? StudyEnd::complete : StudyEnd::incomplete};
}

std::function<int()> add_sweep(CLI::App& command) {
  const auto a = std::make_shared<SweepArguments>();
  command.add_option("study", a->study, "a file, or a name from `list studies`")->required();
  command.add_option("-o,--output", a->output, "SQLite file (results/<name of the study>.db)");
  command.add_option("-j,--threads", a->threads, "runs in parallel (all cores)");
  command.add_flag("-q,--quiet", a->quiet, kQuietHelp);
  command.add_flag("--resume", a->resume, "continue an interrupted study; run failed runs again");
  command.add_flag("--dry-run", a->dry_run,
                   "check everything and estimate the number of runs and the time");
  command.add_option("--shard", a->shard, "i/n: only every n-th point, starting with the i-th");
  command.add_option("--set", a->set, "path=value, overrides the base scenario")
      ->allow_extra_args(false);
  command.add_option("--trace", a->trace, "replay this trace file in every run");
  command.add_option("--columns", a->columns, kColumnsHelp);
  command.add_option("--catalog", a->catalog, kCatalogHelp);
  command.add_flag("--json", a->json, "print every point with its verdict as JSON");
  return [a] {
    static const std::atomic<bool> never{false};  // an estimate has nothing to keep
    return answer_of(sweep_command(*a, kVersion, a->dry_run ? never : stop_on_signals()), a->json);
  };
}

std::function<int()> add_merge(CLI::App& command) {
  const auto a = std::make_shared<MergeArguments>();
  command.add_option("output", a->output, "SQLite file to write")->required();
  command.add_option("inputs", a->inputs, "shard files of one study")->required();
  return [a] { return answer_of(merge_command(*a)); };
}

}  // namespace

const Command kSweepCommand{"sweep", "run a study, store it in one SQLite file", add_sweep};
const Command kMergeCommand{"merge", "merge the shards of a study into one file", add_merge};

}  // namespace headroom
