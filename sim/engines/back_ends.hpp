#pragma once
// Which engines run on which vendor's devices.

#include <string_view>

namespace headroom {

struct Engine;

// What `engine` lacks on devices of `vendor` ("nvidia", "amd", "apple"), as the rest of a sentence
// that begins with its name; empty: nothing.
[[nodiscard]] std::string_view missing_back_end(const Engine& engine, std::string_view vendor);

}  // namespace headroom
