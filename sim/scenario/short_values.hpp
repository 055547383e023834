#pragma once
// Numbers as people write them: "32k", "2s", "85%", "80GiB".

#include <optional>
#include <string_view>

#include "sim/options/bounds.hpp"

namespace headroom {

// `text` as a number of `unit`, as option rows name it; nothing: no such number. Times take us, ms,
// s, m or min, h, d; GiB and bytes take KiB, MiB, GiB, TiB, also as one letter, all of 1024; tokens
// take k and m of 1024, other counts of 1000; a number within 0 to 1 takes %. Without a suffix it
// is no short form: a number is written without quotes.
[[nodiscard]] std::optional<double> short_number(std::string_view text, std::string_view unit,
                                                 const Bounds& bounds);

}  // namespace headroom
