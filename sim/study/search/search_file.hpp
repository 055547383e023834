#pragma once
// The list at /search of a study file.

#include <vector>

#include "sim/study/search/search.hpp"
#include "sim/study/sweep/study_file.hpp"

namespace headroom {

// ConfigError: an unknown key, option or metric, an empty range, an option that the study varies, a
// limit without a direction, a name that stands twice. `replications` is the study's.
[[nodiscard]] std::vector<Search> read_searches(const JsonDocument& document,
                                                const std::vector<AxisGroup>& groups,
                                                std::int64_t replications);
// Its part of the JSON Schema of study files.
[[nodiscard]] Json searches_schema();

}  // namespace headroom
