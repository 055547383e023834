// Completion scripts: commands behind the program's name, then a command's options, the names that
// it knows, and files.

#include <fmt/format.h>

#include <string_view>

#include "sim/app/command_help.hpp"

namespace headroom {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

// Within single quotes of a shell.
std::string shell_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out;
}

std::string first_word(const CommandHelp& command) {
  return command.name.substr(0, command.name.find(' '));
}

bool is_subcommand(const CommandHelp& command) {
  return command.name.find(' ') != std::string::npos;
}

// "plan" of "fleet plan"; empty for a command.
std::string second_word(const CommandHelp& command) {
  return is_subcommand(command) ? command.name.substr(command.name.find(' ') + 1) : "";
}

std::vector<std::string> option_names(const CommandHelp& command) {
  std::vector<std::string> names;
  for (const OptionHelp& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

// What _arguments of zsh reads as something else in a description.
std::string zsh_doc(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return shell_quoted(out);
}

}  // namespace

std::string bash_completion(const std::vector<CommandHelp>& commands) {
  std::vector<std::string> top;
  std::string cases;
  for (const CommandHelp& command : commands) {
    if (!is_subcommand(command)) top.push_back(command.name);
    cases += fmt::format("    '{}') options='{}' words='{}' ;;\n", command.name,
                         joined(option_names(command), " "), joined(command.words, " "));
  }
  return fmt::format(R"(# bash completion for headroom
_headroom() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} options= words=
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- "$current")
    return
  fi
  case $command in fleet | trace) ((COMP_CWORD == 2)) || command+=" ${{COMP_WORDS[2]}}" ;; esac
  case $command in
{}  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -W "$words" -- "$current")
  fi
}}
complete -o filenames -F _headroom headroom
)",
                     joined(top, " "), cases);
}

std::string zsh_completion(const std::vector<CommandHelp>& commands) {
  std::string top;
  std::string cases;
  for (const CommandHelp& command : commands) {
    if (!is_subcommand(command)) {
      top += fmt::format("    '{}:{}'\n", command.name, zsh_doc(command.doc));
    }
    cases += fmt::format("    '{}') _arguments \\\n", command.name);
    for (const OptionHelp& option : command.options) {
      for (const std::string& name : option.names) {
        cases += fmt::format("      '*{}[{}]{}' \\\n", name, zsh_doc(option.doc),
                             option.takes_value ? ":value:_files" : "");
      }
    }
    cases += fmt::format(
        "      '*:argument:_alternative \"words:name:({})\" \"files:file:_files\"' ;;\n",
        joined(command.words, " "));
  }
  return fmt::format(R"(#compdef headroom
_headroom() {{
  local -a commands=(
{})
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  shift words
  ((CURRENT--))
  local name=$words[1]
  if [[ $name == (fleet|trace) ]] && ((CURRENT > 2)); then
    name="$name $words[2]"
    shift words
    ((CURRENT--))
  fi
  case $name in
{}  esac
}}
_headroom "$@"
)",
                     top, cases);
}

std::string fish_completion(const std::vector<CommandHelp>& commands) {
  std::string text = "# fish completion for headroom\n";
  for (const CommandHelp& command : commands) {
    const std::string first = first_word(command);
    const std::string second = second_word(command);
    std::string seen = "__fish_seen_subcommand_from " + first;
    if (!is_subcommand(command)) {
      text += fmt::format("complete -c headroom -n __fish_use_subcommand -f -a {} -d '{}'\n", first,
                          shell_quoted(command.doc));
    } else {
      text += fmt::format("complete -c headroom -n '{}' -f -a {} -d '{}'\n", seen, second,
                          shell_quoted(command.doc));
      seen += "; and __fish_seen_subcommand_from " + second;
    }
    if (!command.words.empty()) {
      text +=
          fmt::format("complete -c headroom -n '{}' -a '{}'\n", seen, joined(command.words, " "));
    }
    for (const OptionHelp& option : command.options) {
      text += fmt::format("complete -c headroom -n '{}'", seen);
      for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        text += fmt::format(" -{} {}", is_long ? 'l' : 's', name.substr(is_long ? 2 : 1));
      }
      text +=
          fmt::format("{} -d '{}'\n", option.takes_value ? " -r" : "", shell_quoted(option.doc));
    }
  }
  return text;
}

}  // namespace headroom
