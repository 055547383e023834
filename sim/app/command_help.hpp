#pragma once
// What the command line offers, as its man page and the completions of shells tell it.

#include <string>
#include <vector>

namespace headroom {

struct OptionHelp {
  std::vector<std::string> names;  // "-o", "--output"; of a positional its name: "scenario"
  bool takes_value = false;
  std::string doc;
};

// A command, or one of its subcommands: "fleet plan".
struct CommandHelp {
  std::string name;
  std::string doc;
  std::vector<OptionHelp> positionals;
  std::vector<OptionHelp> options;
  std::vector<std::string> words;  // that may stand for a positional: "demo"
};

// troff, for man(1). `about`: what the program does; `footer`: exit codes.
[[nodiscard]] std::string man_page(const std::vector<CommandHelp>& commands,
                                   const std::string& about, const std::string& footer,
                                   const std::string& version);

[[nodiscard]] std::string bash_completion(const std::vector<CommandHelp>& commands);
[[nodiscard]] std::string zsh_completion(const std::vector<CommandHelp>& commands);
[[nodiscard]] std::string fish_completion(const std::vector<CommandHelp>& commands);

}  // namespace headroom
