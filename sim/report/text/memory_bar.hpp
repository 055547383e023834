#pragma once
// Parts of a device's memory as bars.

#include <string>
#include <string_view>

namespace headroom {

// One line: name, bar, GiB and, `is_share`, per cent of `whole`. Ends with a line break.
[[nodiscard]] std::string memory_bar_line(std::string_view name, double gib, double whole,
                                          bool is_share);
// The whole, in the column of the parts.
[[nodiscard]] std::string memory_total_line(std::string_view name, double gib);

}  // namespace headroom
