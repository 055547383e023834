#pragma once
// What a mistyped name most likely means, for error messages.

#include <span>
#include <string>
#include <string_view>

namespace headroom {

// Edit distance (insert, delete, replace, swap of neighbours), letters compared without case.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate closest to `name`, the first of equals. When more than a third of the longer name
// would have to change: the first candidate that begins with `name` (3 letters or more); else
// empty.
[[nodiscard]] std::string nearest_name(std::string_view name,
                                       std::span<const std::string> candidates);

// "a, b, c". (fmt::join sets off a false warning of g++ 12 at -O3.)
[[nodiscard]] std::string comma_list(std::span<const std::string> names);

}  // namespace headroom
