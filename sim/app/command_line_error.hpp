#pragma once
// What is wrong with a command line, in words that say what is allowed.

#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/errors.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace headroom {

// The command of this name that `command` consists of; nullptr: there is none.
[[nodiscard]] const CLI::App* part_named(const CLI::App& command, std::string_view name);

// Of an error of `app`, which has parsed `words`: those behind the program's name, in their order.
[[nodiscard]] ConfigError command_line_error(const CLI::App& app,
                                             const std::vector<std::string>& words,
                                             const CLI::ParseError& error);

}  // namespace headroom
