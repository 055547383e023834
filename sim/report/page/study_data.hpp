#pragma once
// What the page shows of a study, as JSON:
//
//   name, path, study             the study file as it was resolved, null when it is not kept
//   axes                          {path, values}: what was varied; numbers in their order, anything
//                                 else as it first comes
//   points                        for each point, the number of its value on each axis (null: the
//                                 point does not have it)
//   metrics, left_out             names; those that would make the page too large stay out
//   values                        by metric: mean, low, high over the replications, by point; null
//                                 where a run has it not (withheld, failed, out of memory)
//   status, oom                   by point: runs done, failed, not stationary; kinds of OOM
//   searches                      for each search and point: name, kind, row (of the point),
//                                 value, low, high, status, detail as the writer left it
//   errors, warnings, budgets, expected_errors

#include "sim/scenario/json_document.hpp"
#include "sim/study/store/stored_study.hpp"

namespace headroom {

// Numbers of metrics in a page; seven bytes each make about 3 MB.
inline constexpr std::size_t kStudyNumbers = 400'000;

// ConfigError: the database says something that no study says; names the place.
[[nodiscard]] Json study_data(const std::string& path);

}  // namespace headroom
