#pragma once
// What `headroom compare` prints.

#include <string>

#include "sim/study/compare/compare.hpp"

namespace headroom {

[[nodiscard]] std::string compare_text(const Comparison& comparison,
                                       const ComparisonResult& result);

}  // namespace headroom
