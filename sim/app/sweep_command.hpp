#pragma once
// `headroom sweep STUDY`: all runs of a study into one SQLite file; `headroom merge`: files of its
// shards into one.

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

struct SweepArguments {
  std::string study;
  std::string output;                   // empty: results/<name of the study>.db
  std::string shard = "1/1";            // i/n
  std::vector<std::string> set;         // laid over the base
  std::string catalog;                  // folder laid over the embedded one; empty: none
  std::optional<std::int64_t> threads;  // empty: all cores
  bool resume = false;
  bool dry_run = false;
};

struct MergeArguments {
  std::string output;
  std::vector<std::string> inputs;
};

enum class StudyEnd { complete, incomplete, interrupted };

struct StudyAnswer {
  std::string text;                   // to print
  StudyEnd end = StudyEnd::complete;  // incomplete: runs failed, or are missing
};

// `version`: the program's own. `interrupted` ends it early; what is stored by then is kept.
// ConfigError: the study or a file is wrong.
[[nodiscard]] StudyAnswer sweep_command(const SweepArguments& arguments, const std::string& version,
                                        const std::atomic<bool>& interrupted);
[[nodiscard]] StudyAnswer merge_command(const MergeArguments& arguments);

}  // namespace headroom
