#pragma once
// What a person reads of a study: before it runs, and after it.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/study/search/finish_searches.hpp"
#include "sim/study/store/merge.hpp"
#include "sim/study/store/results_store.hpp"
#include "sim/study/store/search_rows.hpp"
#include "sim/study/sweep/study_plan.hpp"
#include "sim/study/sweep/study_runner.hpp"

namespace headroom {

// "3 h 20 min", "12 s"
[[nodiscard]] std::string duration_text(double seconds);

// `--dry-run`: how much it is, and how long `runs` of it and the searches of `points` will take
// with that many threads.
[[nodiscard]] std::string sweep_plan_text(const StudyPlan& plan, std::int64_t runs,
                                          std::int64_t points, const SweepEstimate& estimate,
                                          std::size_t threads);

inline constexpr std::int64_t kMostPoints = 60;   // that are shown
inline constexpr std::int64_t kMostFailures = 5;  // that are named

struct SweepShown {
  std::vector<StoredParameter> parameters;
  std::vector<StoredRun> runs;      // of the points that are shown
  std::vector<StoredRun> failures;  // that are named
  StoredCounts counts;              // of all
  std::vector<StoredSearch> searches = {};
};
// What is shown of a file of results.
[[nodiscard]] SweepShown read_shown(const std::string& path);

// What searches found; then a row for each point: means over its runs, out-of-memory, failures.
// `path` is the file it is in.
[[nodiscard]] std::string sweep_text(const SweepShown& shown, const std::string& path);

[[nodiscard]] std::string merge_text(const MergeResult& result, const SearchCounts& searches,
                                     const std::string& path);

}  // namespace headroom
