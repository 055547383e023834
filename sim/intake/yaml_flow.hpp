#pragma once
// Pieces of YAML that stand within a line: scalars, keys, comments and flow collections. Parts of
// yaml_subset.hpp. Errors are ConfigErrors without a place; the caller adds it.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "sim/scenario/json_document.hpp"

namespace headroom {

// The line up to " #" outside of quotes.
[[nodiscard]] std::string_view yaml_without_comment(std::string_view line);

// Where the colon of "key: ..." stands; nothing when `text` does not begin with a key.
[[nodiscard]] std::optional<std::size_t> yaml_key_end(std::string_view text);

// Without its quotes, escapes read.
[[nodiscard]] std::string yaml_scalar(std::string_view text);
// A text, or null for nothing, "null" and "~" without quotes.
[[nodiscard]] Json yaml_plain(std::string_view text);

// Whether all quotes and brackets of `text` are closed.
[[nodiscard]] bool yaml_flow_closed(std::string_view text);
// [a, "b", {c: d}], {a: b}, "text", 'text'
[[nodiscard]] Json read_yaml_flow(std::string_view text);

}  // namespace headroom
