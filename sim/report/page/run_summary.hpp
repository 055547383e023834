#pragma once
// What a page needs of summary.json and resolved.json. Checked here, so that nothing behind this
// meets a file of another shape.

#include <string>

#include "sim/scenario/json_document.hpp"

namespace headroom {

// ConfigError with the JSON pointer: missing, or not of its type. `name` is how errors call the
// file.
void check_summary(const Json& summary, const std::string& name);
void check_resolved(const Json& resolved, const std::string& name);

}  // namespace headroom
