#pragma once
// Files named on the command line; "-" is standard input.

#include <string>

namespace headroom {

// `name`, or the file that is standard input where it is "-".
[[nodiscard]] std::string input_path(const std::string& name);

// Whether `path` holds a text: a file or standard input, and no folder or something else's name.
[[nodiscard]] bool is_input(const std::string& path);

// ConfigError: as read_text_file, up to kMostDataBytes. Standard input may be asked for again.
[[nodiscard]] std::string input_text(const std::string& path);

}  // namespace headroom
