#pragma once
// The answer of `headroom compare` as JSON text. `version` is the program's own.

#include <string>

#include "sim/study/compare/compare.hpp"

namespace headroom {

[[nodiscard]] std::string compare_json(const Comparison& comparison, const ComparisonResult& result,
                                       const std::string& version);

}  // namespace headroom
