#pragma once
// The part of POSIX shell that people use to start a server: words, quotes, line continuations,
// comments, variables set in the same text, the operators between commands, and here-documents.
// Other redirections are read and dropped. Not read: arrays, control flow; `$(...)` stays as
// written. Line continuations of cmd.exe and PowerShell, and quotes and dashes of word processors,
// are taken for what was meant.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

using Variables = std::map<std::string, std::string>;

struct ShellCommand {
  Variables environment;  // exported before, and assigned in front of the command
  std::vector<std::string> words;
};

struct ShellText {
  std::vector<ShellCommand> commands;   // in order; those that only assign variables are left out
  std::vector<std::string> unresolved;  // "$NAME", "$(...)": kept as written
  std::map<std::string, std::string> files;  // that here-documents write, by name
};

// `known` are the variables set before. ConfigError `shown_as: ...` for an open quote or
// here-document, and for "<name>", which is to be filled in.
[[nodiscard]] ShellText read_shell(std::string_view text, const std::string& shown_as,
                                   const Variables& known = {});

// Only words and quotes, as Python's shlex.split: for the command of a compose file.
[[nodiscard]] std::vector<std::string> split_words(std::string_view text,
                                                   const std::string& shown_as);

// "$NAME", "${NAME}", "${NAME:-default}", "${NAME-default}" replaced by the value; others stay and
// are added to `unresolved`. "$$" is "$" (Compose's escape).
[[nodiscard]] std::string expand_variables(std::string_view text, const Variables& variables,
                                           std::vector<std::string>& unresolved);

// A word as a shell reads it back: in quotes where it needs them. Several, with blanks between.
[[nodiscard]] std::string shell_word(const std::string& word);
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

// Position of '=' in NAME=value, 0 when `word` is no assignment.
[[nodiscard]] std::size_t assignment_at(std::string_view word);

}  // namespace headroom
