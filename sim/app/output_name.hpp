#pragma once
// A name that a file gives itself, as part of the path of its default output.

#include <string>

namespace headroom {

// The name, if it stays in the folder of outputs. ConfigError: empty, `.`, `..`, too long, or with
// a separator or a control character. `file`: where the name is from.
[[nodiscard]] std::string output_name(const std::string& file, const std::string& name);

}  // namespace headroom
