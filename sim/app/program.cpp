// The command line. Exit codes: 0 done (running out of memory is a result, too), 2 the scenario, a
// file or a flag is wrong, 3 some runs of a study failed or are missing, or the server that was
// measured is lost, 4 `ask`: it does not hold or start, `tune`: nothing does, `assert`: an
// assertion is broken, `serve`: it does not start, 70 a bug of Headroom, 130, 143, 129 interrupted
// by SIGINT, SIGTERM, SIGHUP with complete results up to then.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/app/command_line_error.hpp"
#include "sim/app/commands/other_words.hpp"
#include "sim/app/failure.hpp"
#include "sim/app/interruption.hpp"
#include "sim/app/next_step.hpp"
#include "sim/app/program.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/kernel/visible_text.hpp"

namespace headroom {
namespace {

// In the order of --help.
constexpr const Command* kCommands[] = {
    &kAskCommand,       &kInitCommand,     &kAssertCommand,  &kTuneCommand,  &kRunCommand,
    &kCheckCommand,     &kCapacityCommand, &kAuditCommand,   &kStepCommand,  &kValidateCommand,
    &kCalibrateCommand, &kFromCommand,     &kObserveCommand, &kServeCommand, &kTwinCommand,
    &kWatchCommand,     &kTraceCommand,    &kCompareCommand, &kFleetCommand, &kEmitCommand,
    &kSweepCommand,     &kMergeCommand,    &kReportCommand,  &kListCommand,  &kCompletionCommand,
    &kManualCommand};

// The words behind the program's name. Several behind -- are one command of another program, whose
// flags are not ours: they become one word, for the commands that take such a command.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto mark = std::ranges::find(words, "--");
  constexpr std::array<std::string_view, 5> kTakers{"ask", "from", "observe", "twin", "watch"};
  const bool takes_command =
      !words.empty() && std::ranges::find(kTakers, words.front()) != kTakers.end();
  for (std::string& word : words) {
    // A command printed as a list, which CLI11 would take apart.
    if (takes_command && word.starts_with('[') && word.ends_with(']')) word.insert(0, " ");
  }
  if (!takes_command || words.end() - mark < 3) return words;
  std::string command;
  for (auto word = mark + 1; word != words.end(); ++word) command += shell_word(*word) + " ";
  words.erase(mark, words.end());
  words.push_back(std::move(command));
  return words;
}

// `headroom help X` is `headroom X --help`; help alone is that of all commands.
void read_help(std::vector<std::string>& words) {
  if (words.empty() || words.front() != "help") return;
  words.erase(words.begin());
  words.emplace_back("--help");
}

// A first word that is no command, before CLI11 calls it an argument that it did not expect. The
// name of a part of one means that: "plan" is "fleet plan".
void check_command(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words.front().starts_with('-')) return;
  std::vector<std::string> known;
  for (const Command* command : kCommands) known.emplace_back(command->name);
  if (std::ranges::find(known, words.front()) != known.end()) return;
  std::string nearest = nearest_name(words.front(), known);
  for (const std::string& name : known) {
    if (part_named(*part_named(app, name), words.front()) == nullptr) continue;
    nearest = name + " " + words.front();
  }
  throw ConfigError(Complaint{.kind = ErrorKind::unknown,
                              .origin = words.front(),
                              .problem = "no command of headroom (see headroom --help)",
                              .nearest = nearest});
}

constexpr std::string_view kFirstSteps =
    "Headroom simulates LLM serving: throughput, latency and memory.\n\n"
    "Does it hold my traffic, and what helps most?\n"
    "    headroom ask compose.yaml --device h100-sxm --rate 5\n\n"
    "How many requests fit in memory, and why did it run out?\n"
    "    headroom capacity --model llama-3.1-8b --device l40s\n\n"
    "What will latency, throughput and memory be?\n"
    "    headroom run demo\n\n"
    "A scenario of your own: headroom init. A log that ends in out of memory: headroom audit LOG.\n"
    "headroom --help lists all commands, headroom help ask explains one.\n";

int parse_and_dispatch(int argc, char** argv) {
  CLI::App app("Headroom simulates LLM serving: throughput, latency and memory.", "headroom");
  app.set_version_flag("--version", "headroom " + kVersion);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 success; 2 wrong scenario, file or flag; 3 some runs of a study failed or "
      "are\nmissing, or a measured server is lost; 4 ask, tune: it does not hold, assert: broken, "
      "serve:\nit does not start; 70 internal error; 128 + signal number if interrupted\n"
      "First steps: headroom run demo; headroom list scenarios");
  std::vector<std::pair<const CLI::App*, std::function<int()>>> actions;
  for (const Command* command : kCommands) {
    CLI::App* own = app.add_subcommand(std::string(command->name), std::string(command->doc));
    actions.emplace_back(own, command->add(*own));
  }
  std::vector<std::string> words;
  try {
    words = in_own_words(app, words_of(argc, argv));
    if (words.empty()) return print(std::string(kFirstSteps));
    read_help(words);
    check_command(app, words);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 begins at the end
  } catch (const CLI::Success& wanted) {
    return app.exit(wanted);  // --help, --version
  } catch (const CLI::ParseError& error) {
    throw command_line_error(app, words, error);
  }
  const auto chosen =
      std::ranges::find_if(actions, [](const auto& action) { return action.first->parsed(); });
  return chosen->second();
}

// An error message is one line whatever a file name or a value brought into it.
void report(const std::string& message) {
  const std::string line = fmt::format("headroom: {}\n", visible_text(message));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void report_internal(const std::string& what, int argc, char** argv) {
  std::string command = "headroom";
  for (int i = 1; i < argc; ++i) command += fmt::format(" '{}'", argv[i]);
  report(fmt::format("internal error, a bug in Headroom {}: {}", kVersion, what));
  report(fmt::format("reproduce with: {}", command));
}

}  // namespace

int run_program(int argc, char** argv) {
  end_on_signals();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a failed write, not the end
  try {
    return parse_and_dispatch(argc, argv);
  } catch (...) {
    const Failure failure = current_failure();
    if (failure.exit_code == kExitInternal) {
      report_internal(failure.text, argc, argv);
    } else {
      report(failure.text);
    }
    return failure.exit_code;
  }
}

}  // namespace headroom
