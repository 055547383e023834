#pragma once
// Searches for values: makes the runs they need with several threads, and stores runs and answers
// at once.

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/study/search/bisection.hpp"
#include "sim/study/store/search_rows.hpp"
#include "sim/study/sweep/study_plan.hpp"

namespace headroom {

// One search for one point.
struct SearchTask {
  std::size_t search = 0;  // its number in the study
  std::int64_t point = 0;
  auto operator<=>(const SearchTask&) const = default;
};
// All of one shard, by point; fronts are not among them: they need no runs.
[[nodiscard]] std::vector<SearchTask> tasks_of(const StudyPlan& plan, const StudyShard& shard);
// Those of `tasks` that are not stored, or failed.
[[nodiscard]] std::vector<SearchTask> missing_tasks(const std::vector<SearchTask>& tasks,
                                                    const Database& database);

struct SearchState {
  std::int64_t wanted = 0;  // searches of this call
  std::int64_t done = 0;    // of these, failed ones included
  std::int64_t failed = 0;
  std::int64_t probes = 0;  // runs made by this call
};

struct SearchOptions {
  std::size_t threads = 1;
  const std::atomic<bool>* interrupted = nullptr;         // ends after what is stored by then
  std::function<void(const SearchState&)> progress = {};  // several times a second
};

// Searches are independent, and each waits only for its own runs; its next runs depend only on what
// it has measured, so that the stored results do not depend on the number of threads. Stored runs
// are not repeated.
[[nodiscard]] SearchState run_searches(const StudyPlan& plan, const Catalog& catalog,
                                       const std::vector<SearchTask>& tasks, ResultsStore& store,
                                       const SearchOptions& options);

// A search from the probes that are stored to its answer, on the calling thread.
struct SearchAnswer {
  std::vector<StoredProbe> probes;  // those made here
  StoredSearch row;
};
[[nodiscard]] SearchAnswer make_search(const StudyPlan& plan, const Catalog& catalog,
                                       const SearchTask& task, std::vector<StoredProbe> known);

// The answer as a row of the file.
[[nodiscard]] StoredSearch search_row(const Search& search, const SearchTask& task,
                                      const EdgeFound& found);

}  // namespace headroom
