#pragma once
// Numbers in text, to the exact integer: digits are read as integers, never as floating point.

#include <cstdint>
#include <optional>
#include <string_view>

namespace headroom {

// A decimal ("12", "-0.5", "199.96150599999999", "1.5e-05") times `scale` (1e9: seconds to ns),
// rounded to the nearest integer, halves away from zero. Nothing when the text is anything else
// (also "nan", "inf", "+1", " 1") or the result does not fit into 64 bits.
[[nodiscard]] std::optional<std::int64_t> parse_scaled_decimal(std::string_view text,
                                                               std::int64_t scale);

// A count: decimal digits, or a decimal with a fraction of zeros as data frames print integers
// ("12.0"). 0 .. 2^31 - 1; nothing when the text is anything else.
[[nodiscard]] std::optional<std::int32_t> parse_count(std::string_view text);

}  // namespace headroom
