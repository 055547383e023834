#pragma once
// A study as its file describes it: a base scenario, and what is varied around it. Reading is
// strict: every mistake is a ConfigError `file: /json/pointer: value X: what is allowed`.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/kernel/embedded_file.hpp"
#include "sim/scenario/json_document.hpp"
#include "sim/study/search/search.hpp"

namespace headroom {

// One option of the scenario with the values it takes.
struct StudyAxis {
  std::vector<std::string> keys;     // of its path
  std::string path;                  // as --set takes it: "engine.max_num_seqs"
  std::vector<Json> values;          // at least one
  std::vector<std::string> origins;  // of the values: "study.json: /vary/0/values/3"
};

// Axes that advance together; all have equally many values.
using AxisGroup = std::vector<StudyAxis>;

// An axis of the study: its group, and its place there.
struct AxisRef {
  std::size_t group = 0;
  std::size_t axis = 0;
};

enum class Comparator { equal, not_equal, less, less_or_equal, greater, greater_or_equal, one_of };

// The value of an axis against a constant, a list of constants, or the value of another axis.
struct StudyComparison {
  AxisRef left;
  Comparator comparator = Comparator::equal;
  Json constant;
  std::optional<AxisRef> right = {};  // instead of the constant
};

// Holds when all of its comparisons hold.
using StudyCondition = std::vector<StudyComparison>;

struct Study {
  std::string name;
  std::string file;       // as errors call it
  JsonDocument base;      // with the command-line flags applied
  std::string base_name;  // of its scenarios, where they have none of their own
  std::string directory;  // that file names in the scenario are relative to; empty: the current
  std::vector<AxisGroup> groups;
  std::vector<StudyCondition> skip_if;  // any of them: the point is left out
  std::vector<StudyCondition> only_if;  // not all of them: the point is left out
  std::int64_t replications = 1;
  std::vector<std::int64_t> seeds;  // listed ones; empty: the scenario's seed + replication
  std::vector<Search> searches = {};
  std::string text;    // everything that decides results, in one line of JSON
  std::string sha256;  // of `text`

  // Searches of values make runs of their own; the points are then run for a front alone.
  [[nodiscard]] bool runs_points() const;
};

// scenarios/studies/*.json of the source tree, compiled in.
[[nodiscard]] std::span<const EmbeddedFile> study_files();

// `name` is a path, or the name of an embedded study when no such file exists. `set`: path=value,
// applied to the base in order; a path that the study varies is an error. `trace`: a file that
// takes the place of the base's workload, relative to the current folder; empty: none.
[[nodiscard]] Study load_study(const std::string& name, const std::vector<std::string>& set,
                               const std::string& trace = {});
// `directory`: that of the file; a base is searched there first.
[[nodiscard]] Study parse_study(const JsonDocument& document, const std::string& directory,
                                const std::vector<std::string>& set, const std::string& trace = {});

// JSON Schema (draft 2020-12) of study files.
[[nodiscard]] Json study_schema();

inline constexpr std::size_t kMaxAxisValues = 100'000;
inline constexpr std::int64_t kMaxReplications = 100'000;

}  // namespace headroom
