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

// What --set takes for an option that the command lacks: "engine.max_num_seqs=8" of
// "--max-num-seqs". `of_plan`: --set changes a plan, not a scenario. Empty: neither has an option
// of this name.
[[nodiscard]] std::string setting_of_flag(std::string flag, std::string_view value, bool of_plan);

// Of an error of `app`, which has parsed `words`: those behind the program's name, in their order.
[[nodiscard]] ConfigError command_line_error(const CLI::App& app,
                                             const std::vector<std::string>& words,
                                             const CLI::ParseError& error);

}  // namespace headroom
