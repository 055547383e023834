#pragma once
// Files of one study, each with some of its runs, as one file.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/study/store/results_store.hpp"

namespace headroom {

struct MergeResult {
  StudyFacts facts;
  std::int64_t runs = 0;    // in the merged file
  std::int64_t failed = 0;  // of these
  std::int64_t twice = 0;   // that stood in several files, with equal results
  std::vector<std::int64_t> missing;
};

// Makes `output`, which must not exist; on an error it does not exist afterwards either. A run in
// several files is taken once; if it failed in some of them, it is taken from another. ConfigError:
// files of different studies or versions, a run with different results in two files, and any damage
// of a file.
[[nodiscard]] MergeResult merge_stores(const std::string& output,
                                       const std::vector<std::string>& inputs);

// Of the runs 0 .. total - 1 those that are not stored; `database` as of a study.
[[nodiscard]] std::vector<std::int64_t> missing_runs(const Database& database, std::int64_t total);

// "0-3, 7, 9-12", cut after `most` ranges.
[[nodiscard]] std::string ranges_text(const std::vector<std::int64_t>& numbers, std::size_t most);

}  // namespace headroom
