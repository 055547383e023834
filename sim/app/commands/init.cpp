// `headroom init`: a commented scenario to start from, by flags or, on a terminal, by questions.

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/app/commands/short_flag.hpp"
#include "sim/app/list.hpp"
#include "sim/app/starter_scenario.hpp"
#include "sim/engines/engines.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/kernel/visible_text.hpp"
#include "sim/report/files/replaced_file.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/study/ask/ask_target.hpp"

namespace headroom {
namespace {

struct InitArguments {
  StarterFlags flags;
  std::string file = "scenario.yaml";  // -: standard output
  std::string catalog;
  bool force = false;
};

constexpr std::string_view kStandardOutput = "-";

ConfigError missing_flags(const StarterFlags& flags) {
  std::vector<std::string> missing;
  if (flags.model.empty()) missing.emplace_back("--model");
  if (flags.device.empty()) missing.emplace_back("--device");
  return ConfigError(Complaint{
      .kind = ErrorKind::missing,
      .origin = "init",
      .problem =
          fmt::format("give {}, or call it on a terminal, where it asks", comma_list(missing))});
}

// The scenario of the flags with every name resolved. What is not given yet is taken from a system
// that always resolves, so that each answer is checked as soon as it is given.
RunResult checked_start(StarterFlags flags, const Catalog& catalog) {
  if (flags.model.empty()) flags.model = "llama-3.1-8b";
  if (flags.device.empty()) flags.device = "h100-sxm";
  ScenarioDocument document{{"init", starter_scenario(flags), {}}, ""};
  return check(load_scenario(std::move(document), "init", {}), catalog);
}

class Questions {
 public:
  Questions(StarterFlags& flags, const Catalog& catalog) : flags_(flags), catalog_(catalog) {}

  void ask_missing() {
    fmt::print("A scenario in a few questions; return takes what stands in brackets.\n");
    if (flags_.model.empty()) {
      ask("model (llama-3.1-8b, Qwen2.5-14B-Instruct, a config.json)", "", flags_.model);
    }
    if (flags_.device.empty()) ask("device (h100-sxm, l40s, 2x4090)", "", flags_.device);
    if (flags_.engine.empty()) {
      std::vector<std::string> names;
      for (const Engine* engine : engines()) names.emplace_back(engine->name);
      ask(fmt::format("engine ({})", comma_list(names)), Scenario{}.engine.name, flags_.engine);
    }
    if (!flags_.traffic.rate && !flags_.traffic.users) {
      ask("requests per second", "1", [this](const std::string& text) {
        flags_.traffic.rate = decimal_number(text);
        if (!flags_.traffic.rate) throw ConfigError("expected a number above 0");
      });
    }
    if (flags_.traffic.prompt.empty()) ask("tokens of a prompt", "1024", flags_.traffic.prompt);
    if (flags_.traffic.output.empty()) ask("tokens of an answer", "256", flags_.traffic.output);
    if (flags_.targets.empty()) {
      ask("latency targets (ttft=2s,tpot=50ms)", "none", [this](const std::string& text) {
        flags_.targets.clear();
        if (text != "none") flags_.targets.push_back(text);
      });
    }
  }

  [[nodiscard]] static std::string read_line(const std::string& question) {
    fmt::print("{} ", question);
    std::fflush(stdout);
    std::string line;
    if (!std::getline(std::cin, line)) throw ConfigError("init: no more answers");
    return std::string(trimmed(line));
  }

 private:
  void ask(const std::string& question, const std::string& otherwise, std::string& into) {
    ask(question, otherwise, [&into](const std::string& text) { into = text; });
  }

  // Again until the answer resolves.
  void ask(const std::string& question, const std::string& otherwise,
           const std::function<void(const std::string&)>& take) {
    const StarterFlags before = flags_;
    while (true) {
      std::string text = read_line(
          otherwise.empty() ? question + ":" : fmt::format("{} [{}]:", question, otherwise));
      if (text.empty()) text = otherwise;
      if (text.empty()) continue;
      try {
        take(text);
        (void)checked_start(flags_, catalog_);
        return;
      } catch (const UserError& error) {
        flags_ = before;
        fmt::print("  {}\n", visible_text(error.what()));
      }
    }
  }

  StarterFlags& flags_;
  const Catalog& catalog_;
};

// A file that stands there is replaced only if the user says so.
void check_target(const InitArguments& a, bool on_terminal) {
  std::error_code ignored;
  if (a.force || a.file == kStandardOutput || !std::filesystem::exists(a.file, ignored)) return;
  if (on_terminal) {
    const std::string answer = Questions::read_line(a.file + " is there: replace it? [no]");
    if (answer == "yes" || answer == "y") return;
  }
  throw ConfigError(Complaint{.kind = ErrorKind::conflict,
                              .origin = a.file,
                              .problem = "is there: --force replaces it, -o names another file"});
}

// A newer Headroom may model another release by default.
void pin_release(StarterFlags& flags, const Resolved& system) {
  const std::optional<std::string>& version = system.scenario.engine.version;
  if (version && flags.engine.find('@') == std::string::npos) {
    flags.engine = fmt::format("{}@{}", system.engine->name, *version);
  }
}

// What the flags leave open, in lines that begin with `mark`.
std::string starter_notes(const StarterFlags& flags, std::string_view mark) {
  std::string text;
  for (const std::string& note : unit_notes(flags.targets)) {
    text += fmt::format("{:<12}{}\n", mark, note);
  }
  return text;
}

int init_command(InitArguments& a) {
  const Catalog catalog = load_catalog(a.catalog);
  const bool on_terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  const bool is_complete = !a.flags.model.empty() && !a.flags.device.empty();
  if (!is_complete && !on_terminal) throw missing_flags(a.flags);
  check_target(a, on_terminal);
  const bool prints = a.file == kStandardOutput;
  const std::string file = prints ? "scenario.yaml" : a.file;
  a.flags.name = std::filesystem::path(file).stem().string();
  if (!is_complete) Questions(a.flags, catalog).ask_missing();
  const RunResult start = checked_start(a.flags, catalog);
  pin_release(a.flags, start.resolved);
  const std::string text = starter_yaml(starter_scenario(a.flags), start.resolved, file);
  if (prints) return print(starter_notes(a.flags, "# assumed") + text);
  if (!is_yaml(a.file)) {
    throw ConfigError(
        Complaint{.origin = "-o", .value = a.file, .problem = "expected a name in .yaml or .yml"});
  }
  ReplacedFile target(a.file);
  target.publish(text);
  return print(fmt::format("{} written\n{}{:<12}headroom run {}\n", a.file,
                           starter_notes(a.flags, "assumed"), "next", a.file));
}

std::function<int()> add_init(CLI::App& command) {
  const auto a = std::make_shared<InitArguments>();
  StarterFlags& flags = a->flags;
  command.add_option("--model", flags.model, "catalog id, Hugging Face name, config.json");
  command.add_option("--device", flags.device, "catalog id or name; 2x4090 for two");
  command.add_option("--devices", flags.device_count, "how many, for one replica (1)");
  command.add_option("--engine", flags.engine, "engine or engine@version");
  with_short_numbers(command.add_option("--rate", flags.traffic.rate, "requests per second (1)"),
                     "requests/s");
  with_short_numbers(command.add_option("--users", flags.traffic.users,
                                        "instead of --rate: each waits for its answer"),
                     "users");
  command.add_option("--in", flags.traffic.prompt, "tokens of a prompt: 3000, 8k (1024)");
  command.add_option("--out", flags.traffic.output, "tokens of an answer (256)");
  command
      .add_option("--slo", flags.targets,
                  "targets: ttft=2s,tpot=50ms of 99 % of the requests, or p99_ttft=2s,p95_e2el=30s")
      ->allow_extra_args(false);
  command.add_option("-o,--output", a->file, "file to write (scenario.yaml); -: standard output");
  command.add_flag("--force", a->force, "replace a file that is there");
  command.add_option("--catalog", a->catalog, kCatalogHelp);
  return [a] { return init_command(*a); };
}

}  // namespace

const Command kInitCommand{"init", "write a commented scenario to start from", add_init};

}  // namespace headroom
