#pragma once
// The table of all engines. A new engine is a folder here and a row in engines.cpp.

#include <span>
#include <string_view>

#include "sim/engines/engine.hpp"

namespace headroom {

[[nodiscard]] std::span<const Engine* const> engines();
// A name of the table.
[[nodiscard]] const Engine& engine_named(std::string_view name);

// Whether the engine takes that option of /engine, which others read, too.
[[nodiscard]] bool reads_option(const Engine& engine, std::string_view option);

}  // namespace headroom
