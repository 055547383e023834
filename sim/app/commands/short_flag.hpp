#pragma once
// Flags whose number may have a unit, as in scenario files: --context 32k, --every 2m, 85%.

#include <string_view>

#include "sim/options/bounds.hpp"

namespace CLI {
class Option;
}

namespace headroom {

// `unit` as option rows name it (short_values.hpp). What is no short number stays as it is written.
CLI::Option* with_short_numbers(CLI::Option* option, std::string_view unit,
                                const Bounds& bounds = {});

}  // namespace headroom
