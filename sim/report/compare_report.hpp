#pragma once
// What `headroom compare` prints.

#include <string>

#include "sim/study/compare/compare.hpp"

namespace headroom {

[[nodiscard]] std::string compare_text(const Comparison& comparison,
                                       const ComparisonResult& result);
[[nodiscard]] std::string compare_json(const Comparison& comparison, const ComparisonResult& result,
                                       const std::string& version);

}  // namespace headroom
