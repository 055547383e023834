#include <fmt/format.h>

#include "sim/app/command_help.hpp"

namespace headroom {
namespace {

// Text as troff shows it unchanged.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool starts_line = out.empty() || out.back() == '\n';
    if (starts_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string option_entry(const OptionHelp& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", plain(name));
  }
  return fmt::format(".TP\n{}{}\n{}\n", names, option.takes_value ? " \\fIVALUE\\fR" : "",
                     plain(option.doc));
}

std::string command_entry(const CommandHelp& command) {
  std::string usage = fmt::format("\\fBheadroom {}\\fR", plain(command.name));
  if (!command.options.empty()) usage += " [\\fIOPTIONS\\fR]";
  for (const OptionHelp& positional : command.positionals) {
    usage += fmt::format(" \\fI{}\\fR", plain(positional.names.front()));
  }
  std::string text =
      fmt::format(".SS {}\n{}\n.PP\n{}\n", plain(command.name), usage, plain(command.doc));
  for (const OptionHelp& positional : command.positionals) text += option_entry(positional);
  for (const OptionHelp& option : command.options) text += option_entry(option);
  return text;
}

}  // namespace

std::string man_page(const std::vector<CommandHelp>& commands, const std::string& about,
                     const std::string& footer, const std::string& version) {
  std::string text =
      fmt::format(".TH HEADROOM 1 \"\" \"headroom {}\" \"User Commands\"\n", version);
  text += ".SH NAME\nheadroom \\- simulate LLM serving\n";
  text += ".SH SYNOPSIS\n\\fBheadroom\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n";
  text += fmt::format(".SH DESCRIPTION\n{}\n.SH COMMANDS\n", plain(about));
  for (const CommandHelp& command : commands) text += command_entry(command);
  return text + fmt::format(".SH EXIT STATUS\n{}\n", plain(footer));
}

}  // namespace headroom
