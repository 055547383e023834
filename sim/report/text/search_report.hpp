#pragma once
// What a person reads of searches: before they run, and after them.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/study/store/search_rows.hpp"
#include "sim/study/sweep/study_file.hpp"

namespace headroom {

// A line for each search; empty where a study has none.
[[nodiscard]] std::string search_plan_lines(const Study& study);
// Runs that the searches of one point make at most, unless values need more replications.
[[nodiscard]] std::int64_t most_probes(const Study& study);

// A table for each search, with at most `most` rows; of a front only the points on it. `searches`
// in order of search and point.
[[nodiscard]] std::string searches_text(const std::vector<StoredSearch>& searches,
                                        const std::vector<StoredParameter>& parameters,
                                        std::int64_t most);

}  // namespace headroom
