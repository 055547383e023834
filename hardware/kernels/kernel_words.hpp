#pragma once
// The text of a surface file, word by word.

#include <cstdint>
#include <optional>
#include <string_view>

#include "hardware/kernels/ideal_time.hpp"

namespace headroom {

// The first word of `rest`, which then begins behind it and one space.
std::string_view next_word(std::string_view& rest);

// A part of a key: a whole number, or a name that stands for one. Names of number formats are
// those of KernelFormat; other names count from 0 within their own kind.
[[nodiscard]] std::optional<std::int64_t> kernel_word(std::string_view word);

// Null: no name of a number format.
[[nodiscard]] std::optional<KernelFormat> kernel_format_named(std::string_view name);

}  // namespace headroom
