#pragma once
// What `headroom list KIND` prints.

#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"

namespace headroom {

[[nodiscard]] std::vector<std::string> kind_names();
[[nodiscard]] std::string list_kinds();  // "models, devices, ..."

// Only entries that contain all of `words`, in any case. ConfigError for an unknown kind, or words
// that nothing contains.
[[nodiscard]] std::string list_text(const std::string& kind, const std::string& catalog_directory,
                                    const std::vector<std::string>& words);

// The embedded catalog, overridden by `directory` unless that is empty.
[[nodiscard]] Catalog load_catalog(const std::string& directory);

}  // namespace headroom
