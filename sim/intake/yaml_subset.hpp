#pragma once
// The YAML that compose files and engine settings are written in, and no more: block mappings and
// sequences, flow [..] and {..} (over several lines), plain, quoted, folded (>) and literal (|)
// scalars, comments. One document.
//
// Scalars stay texts, as written: what "8" or "off" means is the reader's to say. An empty value is
// null. ConfigError `name:line: ...` for anchors, aliases, merges, tags, tabs in indentation,
// duplicate keys, a second document.

#include <string>
#include <string_view>

#include "sim/scenario/json_document.hpp"

namespace headroom {

[[nodiscard]] Json read_yaml(std::string_view text, const std::string& name);

}  // namespace headroom
