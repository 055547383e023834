// `headroom completion SHELL` and `headroom manual`: what the command line offers, read from the
// options that it parses.

#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/app/command_help.hpp"
#include "sim/app/list.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/study/plan/plan_file.hpp"
#include "sim/study/sweep/study_file.hpp"

namespace headroom {
namespace {

std::vector<std::string> names_of(std::span<const EmbeddedFile> files) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : files) {
    names.push_back(std::filesystem::path(file.name).stem().string());
  }
  return names;
}

// What may stand for a positional of this name, besides files.
std::vector<std::string> words_for(const std::string& positional) {
  if (positional == "study") return names_of(study_files());
  if (positional == "plan") return names_of(plan_files());
  if (positional == "kind") return kind_names();
  const bool is_scenario = positional == "scenario" || positional == "a" || positional == "target";
  return is_scenario ? names_of(scenario_files()) : std::vector<std::string>{};
}

OptionHelp help_of(const CLI::Option& option) {
  OptionHelp help;
  for (const std::string& name : option.get_snames()) help.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) help.names.push_back("--" + name);
  help.takes_value = option.get_items_expected_max() > 0;
  help.doc = option.get_description();
  return help;
}

CommandHelp help_of(const CLI::App& command, const std::string& name) {
  CommandHelp help{name, command.get_description(), {}, {}, {}};
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) {
      help.options.push_back(help_of(*option));
      continue;
    }
    const std::string positional = option->get_name(true);
    help.positionals.push_back({{positional}, false, option->get_description()});
    if (help.words.empty()) help.words = words_for(positional);
  }
  return help;
}

std::vector<CommandHelp> commands_of(const CLI::App& program) {
  std::vector<CommandHelp> all;
  const auto every = [](const CLI::App*) { return true; };
  for (const CLI::App* command : program.get_subcommands(every)) {
    all.push_back(help_of(*command, command->get_name()));
    std::vector<CommandHelp> own;
    for (const CLI::App* one : command->get_subcommands(every)) {
      own.push_back(help_of(*one, command->get_name() + " " + one->get_name()));
      all.back().words.push_back(one->get_name());
    }
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::string completion_of(const std::string& shell, const CLI::App& program) {
  const std::vector<CommandHelp> commands = commands_of(program);
  if (shell == "bash") return bash_completion(commands);
  if (shell == "zsh") return zsh_completion(commands);
  if (shell == "fish") return fish_completion(commands);
  throw ConfigError(
      Complaint{.origin = "completion", .value = shell, .problem = "expected bash, zsh or fish"});
}

std::function<int()> add_completion(CLI::App& command) {
  const auto shell = std::make_shared<std::string>();
  command.add_option("shell", *shell, "bash, zsh or fish")->required();
  return [shell, &command] { return print(completion_of(*shell, *command.get_parent()), true); };
}

std::function<int()> add_manual(CLI::App& command) {
  return [&command] {
    const CLI::App& program = *command.get_parent();
    return print(
        man_page(commands_of(program), program.get_description(), program.get_footer(), kVersion),
        true);
  };
}

}  // namespace

const Command kCompletionCommand{"completion", "print the completions of a shell", add_completion};
const Command kManualCommand{"manual", "print the man page", add_manual};

}  // namespace headroom
