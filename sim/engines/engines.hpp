#pragma once
// The table of all engines. A new engine is a folder here and a row in engines.cpp.

#include <span>
#include <string_view>

#include "sim/engines/engine.hpp"

namespace headroom {

[[nodiscard]] std::span<const Engine* const> engines();
// nullptr for a name of no engine.
[[nodiscard]] const Engine* find_engine(std::string_view name);
// A name of the table.
[[nodiscard]] const Engine& engine_named(std::string_view name);

// The engine that publishes a metric of that name, among those whose metrics are read; or nullptr.
[[nodiscard]] const Engine* engine_of_metric(std::string_view metric);

// Whether the engine takes that option of /engine, which others read, too.
[[nodiscard]] bool reads_option(const Engine& engine, std::string_view option);

}  // namespace headroom
