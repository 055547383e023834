#pragma once
// Options by less than their whole path: "max_num_seqs" for engine.max_num_seqs, and the words that
// commands use for traffic.

#include <string>
#include <string_view>

#include "sim/scenario/json_document.hpp"

namespace headroom {

// The path that `path` ends: itself where an option, a section or a part of a list stands there,
// or where nothing ends so. rate, users, in and out are those of `headroom ask`. ConfigError about
// `origin`: several options end so.
[[nodiscard]] std::string whole_path(std::string_view path, const std::string& origin);

// Moves keys at the top of a scenario that are no sections to their places: {"rate": 5}.
// ConfigError: as above, or the place is taken.
void place_short_keys(JsonDocument& document);

}  // namespace headroom
