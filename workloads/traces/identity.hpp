#pragma once
// Identities that files print in various ways: integers, UUIDs, names.

#include <cstdint>
#include <optional>
#include <string_view>

namespace headroom {

// Decimal digits only, 0 .. 2^64 - 1; nothing when the text is anything else.
[[nodiscard]] std::optional<std::uint64_t> parse_unsigned(std::string_view text);

// An integer in its usual spelling is its own id; any other text gets `text_id`.
[[nodiscard]] std::uint64_t identity_of(std::string_view text);

// As `identity_of`; kNoSession when the text is empty.
[[nodiscard]] std::uint64_t session_of(std::string_view text);

}  // namespace headroom
