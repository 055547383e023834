// `headroom assert S... 'p99_ttft_ms < 800' ...`: what a deployment must keep, for people who keep
// it in git.

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
#include "sim/app/failure.hpp"
#include "sim/app/input_text.hpp"
#include "sim/app/interruption.hpp"
#include "sim/app/list.hpp"
#include "sim/app/system_source.hpp"
#include "sim/app/threads.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/report/files/replaced_file.hpp"
#include "sim/report/json/assert_json.hpp"
#include "sim/report/text/assert_report.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/study/ask/ask_target.hpp"

namespace headroom {
namespace {

struct AssertArguments {
  std::vector<std::string> words;  // scenarios and assertions
  std::vector<std::string> set;
  std::string junit;
  std::string markdown;
  std::optional<std::int64_t> threads;  // empty: all cores
  std::string catalog;
  bool json = false;
};

ConfigError nothing_given(std::string problem) {
  return ConfigError(
      Complaint{.kind = ErrorKind::missing, .origin = "assert", .problem = std::move(problem)});
}

// Everything is read before anything runs.
struct AssertRequest {
  std::vector<AssertedScenario> scenarios;
  std::vector<Assertion> assertions;
};

AssertRequest assert_request(const AssertArguments& a) {
  std::vector<std::string> files;
  std::vector<std::string> texts;
  for (const std::string& word : a.words) {
    const bool is_text = !is_scenario(word) && is_assertion(word);
    (is_text ? texts : files).push_back(is_text ? word : input_path(word));
  }
  if (texts.empty()) {
    throw nothing_given("name what must hold, in quotes: 'p99_ttft_ms < 800' 'oom == 0'");
  }
  if (files.empty()) throw nothing_given("name a scenario: a file, or a built-in name");
  if (std::ranges::count(files, kStandardInput) > 1) {
    throw ConfigError("assert -: standard input can be read once");
  }
  AssertRequest request;
  request.assertions = parse_assertions(texts);
  ScenarioFlags flags;
  flags.set = a.set;
  for (const std::string& file : files) {
    request.scenarios.push_back({file, load_scenario(file, flags)});
  }
  return request;
}

// What the assertions leave open.
std::string open_units(const std::vector<Assertion>& assertions) {
  std::vector<std::string> latencies;
  for (const Assertion& one : assertions) {
    if (unit_of_metric(one.metric) == "ms") latencies.push_back(one.text);
  }
  std::string text;
  for (const std::string& note : unit_notes(latencies)) {
    text += fmt::format("{}{:<12}{}\n", text.empty() ? "\n" : "", "assumed", note);
  }
  return text;
}

int assert_command(const AssertArguments& a) {
  const AssertRequest request = assert_request(a);
  const Catalog catalog = load_catalog(a.catalog);
  // Refused before the runs where they cannot be written.
  std::optional<ReplacedFile> junit;
  std::optional<ReplacedFile> markdown;
  if (!a.junit.empty()) junit.emplace(a.junit);
  if (!a.markdown.empty()) markdown.emplace(a.markdown);
  const std::atomic<bool>& interrupted = stop_on_signals();
  const std::vector<CheckedScenario> checked =
      assert_runs(request.scenarios, request.assertions, catalog,
                  {.threads = threads_of(a.threads), .interrupted = &interrupted});
  if (interrupted) return interrupted_exit_code();
  if (junit) junit->publish(assert_junit(checked));
  if (markdown) markdown->publish(assert_markdown(checked));
  print(a.json ? json_text(assert_json(checked, kVersion))
               : assert_text(checked) + open_units(request.assertions),
        a.json);
  const bool broken = std::ranges::any_of(
      checked, [](const CheckedScenario& one) { return one.count(AssertionVerdict::broken) > 0; });
  return broken ? kExitDoesNotHold : 0;
}

std::function<int()> add_assert(CLI::App& command) {
  const auto a = std::make_shared<AssertArguments>();
  command
      .add_option("words", a->words,
                  "scenarios, and what must hold in each: 'p99_ttft_ms < 800' 'oom == 0' "
                  "'goodput_share >= 99%'; names from `list metrics`")
      ->required();
  command.add_option("--set", a->set, "path=value, for every scenario")->allow_extra_args(false);
  command.add_option("--junit", a->junit, "also write JUnit XML to this file");
  command.add_option("--markdown", a->markdown, "also write a summary in Markdown to this file");
  command.add_option("-j,--threads", a->threads, "runs in parallel (all cores)");
  command.add_option("--catalog", a->catalog, kCatalogHelp);
  command.add_flag("--json", a->json, "print JSON");
  return [a] { return assert_command(*a); };
}

}  // namespace

const Command kAssertCommand{"assert", "do scenarios keep these conditions? For CI", add_assert};

}  // namespace headroom
