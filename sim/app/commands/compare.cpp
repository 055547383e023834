// `headroom compare A B`: two scenarios under the same traffic, and how certain their difference
// is.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/app/input_text.hpp"
#include "sim/app/interruption.hpp"
#include "sim/app/list.hpp"
#include "sim/app/next_step.hpp"
#include "sim/app/system_source.hpp"
#include "sim/app/threads.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/report/files/result_files.hpp"
#include "sim/report/json/compare_json.hpp"
#include "sim/report/text/compare_report.hpp"
#include "sim/study/compare/compare.hpp"

namespace headroom {
namespace {

struct CompareArguments {
  std::string a;  // a scenario; alone: a study with two points
  std::string b;
  std::optional<std::string> trace;  // for both
  std::string columns;               // of the trace
  std::vector<std::string> set;      // overrides both
  std::vector<std::string> set_a;
  std::vector<std::string> set_b;
  std::optional<std::int64_t> replications;
  std::optional<std::int64_t> threads;  // empty: all cores
  std::string output;                   // results of the first replication in OUTPUT/a, OUTPUT/b
  std::string catalog;
  bool json = false;
  bool quiet = false;
};

std::int64_t replications_of(const std::optional<std::int64_t>& given, std::int64_t otherwise) {
  if (!given) return otherwise;
  if (*given < 1 || *given > kMostReplications) {
    throw ConfigError(
        fmt::format("--replications {}: expected 1 to {}", *given, kMostReplications));
  }
  return *given;
}

Comparison pair_of(const CompareArguments& arguments) {
  std::vector<std::string> set = arguments.set;
  if (!arguments.columns.empty()) set.push_back(columns_setting(arguments.columns));
  if (arguments.b.empty() && arguments.set_a.empty() && arguments.set_b.empty()) {
    if (!is_input(arguments.a) && is_scenario(arguments.a)) {
      throw ConfigError(Complaint{.kind = ErrorKind::missing,
                                  .origin = arguments.a,
                                  .problem = "one scenario: say what changes (--set-b PATH=VALUE), "
                                             "or name another scenario beside it"});
    }
    if (!arguments.trace) return load_pair(arguments.a, set);
    throw ConfigError(Complaint{
        .kind = ErrorKind::no_effect,
        .origin = "--trace",
        .problem = "a study names its own traffic: compare two scenarios, or one with --set-b"});
  }
  // One scenario alone is compared with itself with other settings.
  const std::string& b = arguments.b.empty() ? arguments.a : arguments.b;
  return load_pair(arguments.a, b, set, arguments.set_a, arguments.set_b, arguments.trace);
}

// The command as it was given, without its number of replications.
std::string same_command(const CompareArguments& arguments) {
  std::string command = "compare " + shell_word(arguments.a);
  if (!arguments.b.empty()) command += " " + shell_word(arguments.b);
  if (arguments.trace) command += " --trace " + shell_word(*arguments.trace);
  if (!arguments.columns.empty()) command += " --columns " + shell_word(arguments.columns);
  const auto add = [&command](std::string_view flag, const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      command += fmt::format(" {} {}", flag, shell_word(value));
    }
  };
  add("--set", arguments.set);
  add("--set-a", arguments.set_a);
  add("--set-b", arguments.set_b);
  return command;
}

// Differences that are not certain need more replications; others can be looked at.
std::string next_after_compare(const CompareArguments& arguments, const Comparison& comparison,
                               const ComparisonResult& result) {
  constexpr std::int64_t kMoreTimes = 4;  // half as wide intervals
  if (!arguments.output.empty()) {
    return next_line(fmt::format("report {0}/a {0}/b", shell_word(arguments.output)),
                     "both runs side by side, on one page");
  }
  const bool open = std::ranges::none_of(result.metrics, &MetricPair::is_certain) &&
                    std::ranges::any_of(result.metrics,
                                        [](const MetricPair& pair) { return pair.half_width > 0; });
  const std::int64_t more = kMoreTimes * comparison.replications;
  const std::string again =
      open && more <= kMostReplications ? fmt::format("--replications {}", more) : "-o pair";
  return next_line(same_command(arguments) + " " + again,
                   open ? "intervals half as wide" : "result files of both, for `headroom report`");
}

std::string compare_command(const CompareArguments& arguments, const std::string& version,
                            const std::atomic<bool>& interrupted) {
  Comparison comparison = pair_of(arguments);
  comparison.replications = replications_of(arguments.replications, comparison.replications);
  CompareOptions options;
  options.threads = threads_of(arguments.threads);
  options.interrupted = &interrupted;
  std::optional<ResultDirectory> a;
  std::optional<ResultDirectory> b;
  if (!arguments.output.empty()) {
    a.emplace(arguments.output + "/a");
    b.emplace(arguments.output + "/b");
  }
  const ComparisonResult result = compare(comparison, load_catalog(arguments.catalog), options);
  if (interrupted.load(std::memory_order_relaxed)) return {};
  if (a && b) {
    write_results(result.a.first, result.a.verdict, version, *a);
    write_results(result.b.first, result.b.verdict, version, *b);
    a->publish();
    b->publish();
  }
  if (arguments.json) return compare_json(comparison, result, version);
  std::string text = compare_text(comparison, result);
  if (a) text += fmt::format("\nfirst replication in {0}/a and {0}/b\n", arguments.output);
  if (arguments.quiet) return text;
  return text + (a ? "" : "\n") + next_after_compare(arguments, comparison, result);
}

std::function<int()> add_compare(CLI::App& command) {
  const auto a = std::make_shared<CompareArguments>();
  command
      .add_option(
          "a", a->a,
          "a scenario; or, alone, a study with two points, or a scenario changed by --set-b")
      ->required();
  command.add_option("b", a->b, "the other scenario");
  command.add_option("--trace", a->trace, "replay this trace file in both");
  command.add_option("--columns", a->columns, kColumnsHelp);
  command.add_option("--set", a->set, "path=value for both")->allow_extra_args(false);
  command.add_option("--set-a", a->set_a, "path=value for A")->allow_extra_args(false);
  command.add_option("--set-b", a->set_b, "path=value for B")->allow_extra_args(false);
  command.add_option("--replications", a->replications,
                     "pairs of runs, each with its own seed (5)");
  command.add_option("-j,--threads", a->threads, "runs in parallel (all cores)");
  command.add_option("-o,--output", a->output, "folder for the result files of the first pair");
  command.add_option("--catalog", a->catalog, kCatalogHelp);
  command.add_flag("--json", a->json, "print JSON");
  command.add_flag("-q,--quiet", a->quiet, kQuietHelp);
  return [a] {
    const std::atomic<bool>& interrupted = stop_on_signals();
    print(compare_command(*a, kVersion, interrupted), a->json);
    return interrupted ? interrupted_exit_code() : 0;
  };
}

}  // namespace

const Command kCompareCommand{"compare", "compare two scenarios under the same traffic",
                              add_compare};

}  // namespace headroom
