#pragma once
// How many threads a command uses.

#include <cstddef>
#include <cstdint>
#include <optional>

namespace headroom {

// What -j says; without it, as many as the machine runs at once. ConfigError outside of 1 to 1024.
[[nodiscard]] std::size_t threads_of(const std::optional<std::int64_t>& given);

}  // namespace headroom
